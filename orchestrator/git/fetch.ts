// Answers clients that read: which refs there are, and the objects that they lack.
import { PlatformError } from "../../runtime-image/contract/errors.ts";
import { GIT_CALL_TIMEOUT_MS, GIT_REQUEST_BYTES_MAX } from "../../runtime-image/contract/limits.ts";
import { shown } from "./commit-facts.ts";
import { type Exchange, feed, linesOfError, relay } from "./exchange.ts";
import { type GitRequest, NO_CACHE, namesService } from "./git-request.ts";
import { type GitChild, gitFailed } from "./git-command.ts";
import { refusedFetch, serviceHead } from "./pkt-line.ts";
import type { OwnRepositories } from "./repositories.ts";
import { requestBody } from "./request-body.ts";
import type { Slots } from "./slots.ts";

export interface FetchParts {
  readonly repositories: OwnRepositories;
  readonly slots: Slots;
}

export async function answerRefs(parts: FetchParts, exchange: Exchange, request: GitRequest & { readonly kind: "refs" }): Promise<void> {
  const { service, protocol } = request;
  const args = [service.slice("git-".length), "--stateless-rpc", "--advertise-refs", "."];
  const head = { "content-type": `application/x-${service}-advertisement` };
  const first = namesService(service, protocol) ? serviceHead(service) : undefined;
  await withChild(parts, exchange, { args, protocol }, async (child) => {
    child.input.end();
    await relay(child.output, exchange.response, head, first);
    const end = await child.ended;
    if (!exchange.response.headersSent) throw gitFailed(args, end);
    exchange.response.end();
  });
}

/** What goes wrong is told in git's own protocol: its clients show nothing else of the answer to a POST. */
export async function answerFetch(parts: FetchParts, exchange: Exchange, request: GitRequest & { readonly kind: "fetch" }): Promise<void> {
  const { response } = exchange;
  const head = { "content-type": "application/x-git-upload-pack-result" };
  const body = requestBody(exchange.request, request.isZipped);
  try {
    await withChild(parts, exchange, { args: ["upload-pack", "--stateless-rpc", "."], protocol: request.protocol }, async (child) => {
      const relayed = relay(child.output, response, head);
      const [fed] = await Promise.all([
        feed(body, child.input, { bytesMax: GIT_REQUEST_BYTES_MAX }).then((how) => {
          if (how === "too large") child.kill();
          return how;
        }),
        relayed.catch((cause: unknown) => {
          if (body.bytesRead() <= GIT_REQUEST_BYTES_MAX) throw cause;
        }),
      ]);
      const end = await child.ended;
      if (fed === "too large")
        throw new PlatformError("BODY_TOO_LARGE", { detail: `A fetch asks with at most ${GIT_REQUEST_BYTES_MAX} bytes.` });
      if (response.headersSent) return void response.end();
      if (end.exitCode !== 0) throw new PlatformError("GIT_FAILED", { detail: shown(end.said, SAID_LENGTH_MAX) });
      response.writeHead(200, { ...NO_CACHE, ...head }).end();
    });
  } catch (cause) {
    if (response.headersSent || exchange.signal.aborted || !(cause instanceof PlatformError)) throw cause;
    response.writeHead(200, { ...NO_CACHE, ...head }).end(refusedFetch(linesOfError(cause)));
  }
  await body.skip(GIT_REQUEST_BYTES_MAX);
}

const SAID_LENGTH_MAX = 400;

interface ChildPlan {
  readonly args: readonly string[];
  readonly protocol: string | null;
}

async function withChild(
  { repositories, slots }: FetchParts,
  { appId, signal }: Exchange,
  { args, protocol }: ChildPlan,
  talk: (child: GitChild) => Promise<void>,
): Promise<void> {
  const repository = await repositories.placeOf(appId);
  const giveBack = await slots.take({ signal });
  try {
    const environment: Record<string, string> = protocol === null ? {} : { GIT_PROTOCOL: protocol };
    const child = await repositories.git.start(args, { repository, signal, environment, timeoutMs: GIT_CALL_TIMEOUT_MS });
    try {
      await talk(child);
    } finally {
      child.kill();
      await child.ended;
    }
  } finally {
    giveBack();
  }
}
