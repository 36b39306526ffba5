// One WebSocket between a client and an upstream: the handshake, then bytes both ways until either side ends it.
import type { ClientRequest, IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import type { ErrorCode } from "../../runtime-image/contract/errors.ts";
import { describe } from "./proxy-exchange.ts";
import { upgradeAnswerHeaders } from "./proxy-head.ts";

export interface TunnelTimes {
  readonly answerTimeoutMs: number;
  readonly idleTimeoutMs: number;
  readonly quietMs: number;
}

export interface TunnelParts {
  readonly socket: Socket; // The client's.
  readonly origin: string;
  readonly path: string;
  readonly requestId: string;
  readonly times: TunnelTimes;
  readonly nowMs: () => number;
  readonly fail: (code: ErrorCode, detail: string) => void; // Answers the client, while nothing was sent yet.
  readonly onOver: (tunnel: ProxyTunnel) => void;
}

const KEEP_ALIVE_MS = 60_000; // TCP asks a silent peer whether it is still there.

/** A class, because it is a state that several events move. */
export class ProxyTunnel {
  readonly #parts: TunnelParts;
  #outgoing: ClientRequest | null = null;
  #upstream: Socket | null = null;
  #state: "asking" | "refusing" | "open" | "over" = "asking";
  #movedMs: number;
  #movedBytes = 0;

  constructor(parts: TunnelParts) {
    this.#parts = parts;
    this.#movedMs = parts.nowMs();
    parts.socket.on("error", () => undefined); // "close" follows.
    parts.socket.once("close", () => this.#end());
  }

  /** Before http-proxy listens: what it then writes to the client is ours to say. */
  take(outgoing: ClientRequest): void {
    const { path, requestId } = this.#parts;
    this.#outgoing = outgoing;
    outgoing.path = path; // http-proxy's own joining would fold slashes.
    outgoing.on("error", (cause) => this.fail("PROXY_FAILED", describe(cause)));
    outgoing.once("response", (incoming) => this.#refuse(incoming));
    outgoing.once("upgrade", (incoming: IncomingMessage) => {
      if (incoming.headers.upgrade?.toLowerCase() !== "websocket") this.fail("PROXY_FAILED", "it switched to another protocol");
      incoming.headers = upgradeAnswerHeaders(incoming.rawHeaders, { requestId, status: 101 });
    });
  }

  /** After http-proxy listens: when this hears of the upgrade, both sockets are joined already. */
  join(): void {
    this.#outgoing?.once("upgrade", (_incoming: IncomingMessage, upstream: Socket) => {
      if (this.#state !== "asking") return void upstream.destroy();
      this.#state = "open";
      this.#upstream = upstream;
      this.#movedMs = this.#parts.nowMs();
      for (const end of [upstream, this.#parts.socket]) end.setKeepAlive(true, KEEP_ALIVE_MS);
      upstream.once("close", () => this.#parts.socket.destroySoon());
    });
  }

  fail(code: ErrorCode, what: string): void {
    if (this.#state === "refusing" || this.#state === "open") return this.end();
    if (this.#state === "over") return;
    this.#state = "over";
    this.#parts.fail(code, `${this.#parts.origin}: ${what}`);
    this.#leave();
  }

  /** Ends what takes too long, and what is silent while this process stops. */
  sweep(nowMs: number, isStopping: boolean): void {
    const { answerTimeoutMs, idleTimeoutMs, quietMs } = this.#parts.times;
    const bytes = this.#parts.socket.bytesRead + this.#parts.socket.bytesWritten;
    if (this.#state !== "asking" && bytes !== this.#movedBytes) {
      this.#movedBytes = bytes;
      this.#movedMs = nowMs;
    }
    const silentMs = nowMs - this.#movedMs;
    if (this.#state === "asking" && silentMs >= answerTimeoutMs)
      this.fail("PROXY_TIMED_OUT", `it sent no status within ${answerTimeoutMs} ms`);
    else if (this.#state === "refusing" && silentMs >= answerTimeoutMs) this.end();
    else if (this.#state === "open" && silentMs >= (isStopping ? quietMs : idleTimeoutMs)) this.end();
  }

  end(): void {
    this.#parts.socket.destroy();
    this.#end();
  }

  // http-proxy writes status, headers and body of a refusal; left to itself it would send framing that no longer fits the body,
  // and wait for ever for the rest of a body that broke off.
  #refuse(incoming: IncomingMessage): void {
    const { requestId } = this.#parts;
    if (this.#state !== "asking") return;
    this.#state = "refusing";
    incoming.headers = upgradeAnswerHeaders(incoming.rawHeaders, { requestId, status: incoming.statusCode ?? 0 });
    incoming.on("error", () => undefined);
    incoming.once("close", () => {
      if (!incoming.complete) this.end();
    });
  }

  #end(): void {
    if (this.#state === "over") return;
    this.#state = "over";
    this.#leave();
  }

  #leave(): void {
    this.#outgoing?.destroy();
    this.#upstream?.destroy();
    this.#parts.onOver(this);
  }
}
