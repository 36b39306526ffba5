// The door of the repositories: answers git's own clients over HTTP, and has every push judged before a ref changes.
import type { IncomingMessage, ServerResponse } from "node:http";
import {
  API_STALL_TIMEOUT_MS,
  GIT_CLOSE_GRACE_MS,
  GIT_FETCH_COUNT_AT_ONCE,
  GIT_PUSH_BYTES_MAX,
  GIT_PUSH_COUNT_AT_ONCE,
  GIT_PUSH_OF_APP_COUNT_AT_ONCE,
  GIT_SLOT_TIMEOUT_MS,
  GIT_WAITING_COUNT_MAX,
} from "../../runtime-image/contract/limits.ts";
import { PlatformError } from "../../runtime-image/contract/errors.ts";
import { type Clock, systemClock } from "../clock.ts";
import { type Exchange, linesOfError, refuse, statusOf } from "./exchange.ts";
import { answerFetch, answerRefs } from "./fetch.ts";
import { gitRequest } from "./git-request.ts";
import { openHookSocket } from "./hook-socket.ts";
import { createPushes, removeUnfinished } from "./leftovers.ts";
import { type PushParts, answerPush } from "./push.ts";
import type { PushReceiver } from "./received-push.ts";
import type { OwnRepositories } from "./repositories.ts";
import { createKeyedSlots, createSlots } from "./slots.ts";

export type { PushReceiver, PushVerdict, ReceivedPush } from "./received-push.ts";

export interface GitDoor {
  /** Answers /git/<app>.git/… to a caller who was let in already. */
  answer(request: IncomingMessage, response: ServerResponse, call: GitDoorCall): void;
  /** Ends what is on its way, and everything that it started. */
  close(): Promise<void>;
}

export interface GitDoorCall {
  readonly appId: string;
  readonly rest: string; // What stands behind the repository's name: "/info/refs".
  readonly query: URLSearchParams;
  readonly by: string;
  readonly mayPush: boolean;
}

export interface GitDoorParts {
  readonly repositories: OwnRepositories;
  readonly receiver: PushReceiver;
  readonly socketFolder: string; // Of this door alone. Where its path is too long for a socket, a folder for temporary files is used.
  readonly nodePath: string;
  readonly report: (text: string) => void;
  readonly pushBytesMax?: number;
  readonly clock?: Clock;
}

export async function createGitDoor(parts: GitDoorParts): Promise<GitDoor> {
  const { repositories, receiver, nodePath, report, pushBytesMax = GIT_PUSH_BYTES_MAX, clock = systemClock } = parts;
  await removeUnfinished(repositories.folder);
  const hookSocket = await openHookSocket(parts.socketFolder);
  const stop = new AbortController();
  const running = new Set<Promise<void>>();
  const slotsFor = { waitingCountMax: GIT_WAITING_COUNT_MAX, timeoutMs: GIT_SLOT_TIMEOUT_MS };
  const fetchParts = { repositories, slots: createSlots({ ...slotsFor, countAtOnce: GIT_FETCH_COUNT_AT_ONCE, what: "Other fetches" }) };
  const pushParts: PushParts = {
    repositories,
    receiver,
    hookSocket,
    nodePath,
    report,
    pushBytesMax,
    pushes: createPushes(),
    clock,
    slots: createSlots({ ...slotsFor, countAtOnce: GIT_PUSH_COUNT_AT_ONCE, what: "Other pushes" }),
    slotsOfApp: createKeyedSlots({
      ...slotsFor,
      countAtOnce: GIT_PUSH_OF_APP_COUNT_AT_ONCE,
      waitingCountMax: 0,
      what: "Other pushes to this app",
    }),
  };

  const answer = async (exchange: Exchange, call: GitDoorCall): Promise<void> => {
    const { request, response } = exchange;
    const asked = gitRequest({
      method: request.method ?? "",
      rest: call.rest,
      query: call.query,
      headers: request.headers,
      mayPush: call.mayPush,
    });
    switch (asked.kind) {
      case "refused":
        return refuse(response, asked.status, [asked.text], asked.headers);
      case "refs":
        return answerRefs(fetchParts, exchange, asked);
      case "fetch":
        return answerFetch(fetchParts, exchange, asked);
      case "push":
        return answerPush(pushParts, exchange, asked);
    }
  };

  return {
    answer(request, response, call) {
      request.socket.setTimeout(API_STALL_TIMEOUT_MS); // A connection on which nothing moves is closed; git itself says something every 5 s.
      response.on("error", () => undefined); // A client that went away is noticed by its close.
      const gone = goneSignal(response);
      const exchange = { request, response, appId: call.appId, by: call.by, signal: AbortSignal.any([gone, stop.signal]) };
      const work = answer(exchange, call)
        .catch((cause: unknown) => {
          if (gone.aborted) return;
          if (!(cause instanceof PlatformError) && !stop.signal.aborted) report(`Git at ${call.rest}: ${stackOf(cause)}`);
          refuse(response, statusOf(cause), linesOfError(cause), { connection: "close" });
        })
        .finally(() => running.delete(work));
      running.add(work);
    },
    async close() {
      stop.abort(new PlatformError("GIT_BUSY", { detail: "The platform stops.", remedy: "Try again when it is back." }));
      const grace = new Promise<void>((done) => setTimeout(done, GIT_CLOSE_GRACE_MS).unref());
      await Promise.race([Promise.all(running), grace]);
      await hookSocket.close();
    },
  };
}

const stackOf = (cause: unknown): string => (cause instanceof Error ? (cause.stack ?? cause.message) : String(cause));

/** Fires when the connection ends before the answer does. */
function goneSignal(response: ServerResponse): AbortSignal {
  const gone = new AbortController();
  response.once("close", () => {
    if (!response.writableFinished) gone.abort(new Error("the client went away"));
  });
  return gone.signal;
}
