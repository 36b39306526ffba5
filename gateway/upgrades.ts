// Requests that want to become something else: a WebSocket where the app's target is its proxy; all others stay what they are.
import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import type { ErrorCode } from "../runtime-image/contract/errors.ts";
import type { GatewayConfig } from "../runtime-image/contract/gateway-config.ts";
import type { Apps } from "./apps.ts";
import type { Peer, Trust } from "./forwarded.ts";
import { visibleDetail } from "./http-job.ts";
import { refuseOnSocket } from "./raw-refusal.ts";
import { readHead, type RequestHead } from "./request-head.ts";
import { chooseTarget } from "./routing/target.ts";
import type { Proxy } from "./upstreams/proxy.ts";

export interface Upgrades {
  /** Whether it becomes a WebSocket; otherwise it is answered like any other request, and its Upgrade header means nothing. */
  takes(request: IncomingMessage, peer: Peer): boolean;
  /** Only what takes() took. */
  open(request: IncomingMessage, socket: Socket, firstBytes: Buffer): void;
  endAll(): void;
}

export interface UpgradeParts {
  readonly config: GatewayConfig;
  readonly apps: Apps;
  readonly trust: Trust;
  readonly proxy: Proxy;
}

interface Taken {
  readonly head: RequestHead;
  readonly url: string;
}

export function createUpgrades({ config, apps, trust, proxy }: UpgradeParts): Upgrades {
  const rules = { limits: config.limits, trust };
  const taken = new WeakMap<IncomingMessage, Taken>();

  const urlFor = (head: RequestHead): string | null => {
    const live = apps.find(head.host)?.live ?? null;
    const target = live === null ? null : chooseTarget(live, head);
    return target?.kind === "proxy" ? target.url : null;
  };

  return {
    takes(request, peer) {
      if (!asksForWebSocket(request)) return false;
      const incoming = { method: "GET", target: request.url ?? "", httpVersion: request.httpVersion, rawHeaders: request.rawHeaders };
      const reading = readHead(incoming, peer, rules);
      if (reading.kind === "refused" || reading.head.bodyBytes > 0 || reading.head.isChunked) return false;
      const url = urlFor(reading.head);
      if (url === null) return false;
      taken.set(request, { head: reading.head, url });
      return true;
    },
    open(request, socket, firstBytes) {
      const one = taken.get(request);
      if (one === undefined) return void socket.destroy();
      const { head, url } = one;
      const fail = (code: ErrorCode, detail: string): void =>
        refuseOnSocket(socket, code, { requestId: head.id, accept: head.accept, detail: visibleDetail(code, detail, config.environment) });
      proxy.upgrade(socket, { url, head, request, firstBytes, fail });
    },
    endAll: () => proxy.endTunnels(),
  };
}

// RFC 6455 4.1: a GET of HTTP/1.1 that names the protocol.
const asksForWebSocket = (request: IncomingMessage): boolean =>
  request.method === "GET" && request.httpVersion === "1.1" && request.headers.upgrade?.trim().toLowerCase() === "websocket";
