// Answers requests with static files, at the client's own pace. Nothing else here knows `send`, or reads contents.
import type { ServerResponse } from "node:http";
import send from "send";
import { ANSWER_STALL_TIMEOUT_MS } from "../../runtime-image/contract/limits.ts";
import type { HttpExchange } from "../http-job.ts";
import type { Log } from "../log.ts";
import type { RequestHead } from "../request-head.ts";
import { type AskedFile, findFile, type FoundFile } from "./lookup.ts";
import { represent } from "./representation.ts";
import { contentsIn, type EarlierFiles, type Site } from "./site.ts";

export interface StaticFiles {
  serve(exchange: HttpExchange, asked: AskedOfSite): void;
  /** Ends connections whose clients stopped reading. */
  sweep(nowMs: number): void;
}

export interface AskedOfSite {
  readonly site: Site;
  readonly area: "static" | "root";
  readonly head: Pick<RequestHead, "method" | "path" | "accept">;
}

interface Progress {
  movedMs: number;
  movedBytes: number; // How far the client's connection was then.
}

export function createStaticFiles(parts: { readonly sitesFolder: string; readonly nowMs: () => number; readonly log: Log }): StaticFiles {
  const root = contentsIn(parts.sitesFolder);
  const sending = new Map<ServerResponse, Progress>();

  const sendFile = (exchange: HttpExchange, { path, file }: FoundFile): void => {
    if (!exchange.begin()) return;
    const { response } = exchange.parts;
    const request = response.req;
    const { contentId, headers } = represent(path, file, headerText(request.headers["accept-encoding"]));
    for (const [name, value] of headers) response.setHeader(name, value);
    response.setHeader("x-request-id", exchange.parts.id);
    delete request.headers["if-unmodified-since"]; // RFC 9110 13.1.4: ignored where a file has no date.
    sending.set(response, { movedMs: parts.nowMs(), movedBytes: response.socket?.bytesWritten ?? 0 });
    response.once("close", () => {
      sending.delete(response);
      exchange.finish();
    });
    const stream = send(request, contentId, { ...SEND_OPTIONS, root });
    stream.on("headers", () => stream.type(path)); // The name on the disk says nothing of what it is.
    stream.on("error", (cause: unknown) => failed(exchange, cause));
    stream.pipe(response);
  };

  const failed = (exchange: HttpExchange, cause: unknown): void => {
    const { response, id } = exchange.parts;
    if (response.headersSent) {
      parts.log.error("a static file broke off", { requestId: id, cause });
      response.destroy(); // So that no short file looks complete.
      return;
    }
    const status = statusOf(cause);
    const range = response.getHeader("content-range");
    for (const name of response.getHeaderNames()) response.removeHeader(name);
    if (status === 416) exchange.fail("RANGE_NOT_SATISFIABLE", undefined, { headers: ["content-range", String(range)] });
    else if (status === 412) exchange.fail("PRECONDITION_FAILED");
    else {
      parts.log.error("a static file cannot be read", { requestId: id, cause });
      exchange.fail("INTERNAL");
    }
  };

  const findEarlier = ({ files, untilMs }: EarlierFiles, asked: AskedFile): FoundFile | null => {
    const found = parts.nowMs() < untilMs ? findFile({ files, isSpa: false }, asked) : null;
    return found?.file.isImmutable === true ? found : null;
  };

  return {
    serve(exchange, { site, area, head: { method, path, accept } }) {
      const { files, isSpa, earlier } = site;
      const isReading = method === "GET" || method === "HEAD";
      if (area === "root" && !isReading) return exchange.fail("ROUTE_NOT_FOUND");
      if (files === null) return exchange.fail("INTERNAL", "The static files of this release cannot be read.");
      const asked = { path, area, accept };
      const found = findFile({ files, isSpa }, asked) ?? (earlier === null ? null : findEarlier(earlier, asked));
      if (found === null) exchange.fail("ROUTE_NOT_FOUND", undefined, { isPageForAll: true });
      else if (isReading) sendFile(exchange, found);
      else exchange.fail("METHOD_NOT_ALLOWED", undefined, { headers: ["allow", "GET, HEAD"] });
    },
    sweep(nowMs) {
      for (const [response, progress] of sending) {
        const bytes = response.socket?.bytesWritten ?? progress.movedBytes;
        if (bytes !== progress.movedBytes) {
          progress.movedBytes = bytes;
          progress.movedMs = nowMs;
        } else if (nowMs - progress.movedMs >= ANSWER_STALL_TIMEOUT_MS) response.destroy();
      }
    },
  };
}

// What `send` would say by itself comes from the file system; we know the content, and say it ourselves.
const SEND_OPTIONS = { cacheControl: false, etag: false, lastModified: false, index: false, dotfiles: "allow" } as const;

const headerText = (value: string | readonly string[] | undefined): string =>
  value === undefined || typeof value === "string" ? (value ?? "") : value.join(",");

const statusOf = (cause: unknown): unknown => (cause instanceof Error && "status" in cause ? cause.status : null);
