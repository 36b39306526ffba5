// Which of git's calls a request is, or why it is none: the rules of git-http-backend(1), without the file server of old clients. Pure.
import type { IncomingHttpHeaders } from "node:http";

export const SERVICES = ["git-upload-pack", "git-receive-pack"] as const;
export type Service = (typeof SERVICES)[number];

export type GitRequest =
  | { readonly kind: "refs"; readonly service: Service; readonly protocol: string | null }
  | { readonly kind: "fetch"; readonly protocol: string | null; readonly isZipped: boolean }
  | { readonly kind: "push"; readonly isZipped: boolean }
  | { readonly kind: "refused"; readonly status: number; readonly text: string; readonly headers?: Readonly<Record<string, string>> };

export interface GitCallFacts {
  readonly method: string;
  readonly rest: string; // What stands behind the repository's name: "/info/refs".
  readonly query: URLSearchParams;
  readonly headers: IncomingHttpHeaders;
  readonly mayPush: boolean;
}

const refused = (status: number, text: string): GitRequest => ({ kind: "refused", status, text });

const MAY_NOT_PUSH = "This token may read the app's source and not push to it. Use one with the role deploy.";

export function gitRequest({ method, rest, query, headers, mayPush }: GitCallFacts): GitRequest {
  const service = SERVICES.find((name) => name === (rest === "/info/refs" ? query.get("service") : rest.slice(1)));
  if (service === undefined || (rest !== "/info/refs" && rest !== `/${service}`))
    return refused(404, "There is nothing at this path. Repositories are served to git 1.6.6 and newer only, at /git/<app>.git.");
  const wanted = rest === "/info/refs" ? "GET" : "POST";
  if (method !== wanted) return { kind: "refused", status: 405, text: `This path takes ${wanted} only.`, headers: { allow: wanted } };
  if (service === "git-receive-pack" && !mayPush) return refused(403, MAY_NOT_PUSH);
  const protocol = service === "git-upload-pack" ? protocolOf(headers["git-protocol"]) : null; // A push has one protocol.
  if (rest === "/info/refs") return { kind: "refs", service, protocol };
  const type = `application/x-${service}-request`;
  if (headers["content-type"] !== type) return refused(415, `A request to this path is of type ${type}.`);
  const encoding = headers["content-encoding"]?.toLowerCase() ?? "identity";
  if (!["identity", "gzip", "x-gzip"].includes(encoding))
    return refused(415, "A request may be compressed with gzip, and with nothing else.");
  const isZipped = encoding !== "identity";
  return service === "git-upload-pack" ? { kind: "fetch", protocol, isZipped } : { kind: "push", isZipped };
}

/** "version=2", with other keys that newer clients may send left out; null: as before there were versions. */
function protocolOf(header: string | readonly string[] | undefined): string | null {
  const keys = typeof header === "string" ? header.split(":") : [];
  return keys.find((key) => key === "version=2" || key === "version=1") ?? null;
}

/** Of version 2, an answer begins with the capabilities; before that, with the service's name. */
export const namesService = (service: Service, protocol: string | null): boolean =>
  service === "git-receive-pack" || protocol !== "version=2";

export const NO_CACHE = {
  "cache-control": "no-cache, max-age=0, must-revalidate",
  expires: "Fri, 01 Jan 1980 00:00:00 GMT",
  pragma: "no-cache",
} as const;
