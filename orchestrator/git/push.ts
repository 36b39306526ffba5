// Answers a push: what it asks for is read first, git takes its objects into quarantine, the hook has it judged, git moves the refs.
import { PlatformError } from "../../runtime-image/contract/errors.ts";
import { GIT_CALL_TIMEOUT_MS } from "../../runtime-image/contract/limits.ts";
import type { Clock } from "../clock.ts";
import { type Exchange, feed, linesOfError, relay } from "./exchange.ts";
import type { GitChild } from "./git-command.ts";
import { NO_CACHE } from "./git-request.ts";
import type { HookHello, HookLine, HookSocket } from "./hook-socket.ts";
import { type Judge, judgePush, linesOf } from "./judge-push.ts";
import { refusedPush } from "./pkt-line.ts";
import { branchRef, commandsProblem, type PushCommands, type RefCommand, readPushCommands } from "./push-commands.ts";
import { installPushHook, NONCE_VARIABLE, SOCKET_VARIABLE } from "./push-hook.ts";
import { type Pushes, removeLeftovers } from "./leftovers.ts";
import { type RequestBody, requestBody } from "./request-body.ts";
import type { KeyedSlots, Slots } from "./slots.ts";

export interface PushParts extends Judge {
  readonly hookSocket: HookSocket;
  readonly nodePath: string;
  readonly slots: Slots;
  readonly slotsOfApp: KeyedSlots;
  readonly pushes: Pushes;
  readonly pushBytesMax: number;
  readonly clock: Clock;
  readonly report: (text: string) => void;
}

const HEAD = { "content-type": "application/x-git-receive-pack-result" };

export async function answerPush(parts: PushParts, exchange: Exchange, { isZipped }: { readonly isZipped: boolean }): Promise<void> {
  const { request, response, signal } = exchange;
  const body = requestBody(request, isZipped);
  const asked = await readPushCommands(body.reader).catch((cause: unknown) => {
    throw signal.aborted || cause instanceof PlatformError
      ? cause
      : new PlatformError("BODY_MALFORMED", { detail: "The push breaks off." }, { cause });
  });
  if (asked.kind === "commands" && asked.commands.length === 0) return void response.writeHead(200, { ...NO_CACHE, ...HEAD }).end(); // It only tries whether it may.
  try {
    if (asked.kind === "malformed") throw refusal(asked.problem);
    await inSlots(parts, exchange, async () => runPush(parts, exchange, { ...asked, body }));
  } catch (cause) {
    if (response.headersSent || signal.aborted) throw cause;
    if (!(cause instanceof PlatformError))
      parts.report(`A push failed: ${cause instanceof Error ? (cause.stack ?? cause.message) : String(cause)}`);
    response.writeHead(200, { ...NO_CACHE, ...HEAD }).end(refusedPush({ ...refsOf(asked), lines: linesOfError(cause), reason: "refused" }));
  }
  await body.skip(parts.pushBytesMax); // Else a client that still sends would not read why.
}

const refusal = (detail: string): PlatformError => new PlatformError("PUSH_REFUSED", { detail });

const refsOf = (asked: PushCommands): { readonly refs: readonly string[]; readonly capabilities: ReadonlySet<string> } => ({
  refs: asked.kind === "commands" ? asked.commands.map(({ ref }) => ref) : [],
  capabilities: asked.capabilities,
});

async function inSlots({ slots, slotsOfApp }: PushParts, { appId, signal }: Exchange, work: () => Promise<void>): Promise<void> {
  const leaveApp = await slotsOfApp.take(appId, { signal });
  try {
    const leave = await slots.take({ signal });
    try {
      await work();
    } finally {
      leave();
    }
  } finally {
    leaveApp();
  }
}

interface AskedPush {
  readonly commands: readonly RefCommand[];
  readonly bytes: Buffer;
  readonly body: RequestBody;
}

async function runPush(parts: PushParts, exchange: Exchange, push: AskedPush): Promise<void> {
  const { repositories, pushBytesMax } = parts;
  const { response, signal } = exchange;
  const repository = await repositories.placeOf(exchange.appId);
  const problem = commandsProblem(push.commands, (await repositories.defaultBranch(repository)).branch);
  if (problem !== null) throw refusal(problem); // Before megabytes are sent in vain.
  await installPushHook(repositories.git.hooksFolder, parts.nodePath);

  const trial = openTrial(parts, { ...exchange, repository });
  parts.pushes.begin(repository);
  try {
    const environment = { [SOCKET_VARIABLE]: parts.hookSocket.path, [NONCE_VARIABLE]: trial.nonce };
    const args = ["-c", `receive.maxInputSize=${pushBytesMax}`, "receive-pack", "--stateless-rpc", "."];
    const child = await repositories.git.start(args, { repository, environment, timeoutMs: GIT_CALL_TIMEOUT_MS });
    // Once it is judged, whoever judges hears of it and decides; git waits for that, or a delivered push might not move its ref.
    const end = (): void => (trial.isHeard() ? undefined : child.kill());
    signal.addEventListener("abort", end, { once: true });
    try {
      if (signal.aborted) end();
      await talk(child, response, { body: push.body, first: push.bytes, bytesMax: pushBytesMax });
    } finally {
      signal.removeEventListener("abort", end);
      end();
      await child.ended;
      await trial.judged();
      await settle(parts, repository, { trial, commands: push.commands });
    }
  } finally {
    trial.close();
    await parts.pushes.end(repository);
  }
}

async function talk(
  child: GitChild,
  response: Exchange["response"],
  { body, first, bytesMax }: { body: RequestBody; first: Buffer; bytesMax: number },
): Promise<void> {
  let isTooLarge = false;
  const feeding = feed(body, child.input, { first, bytesMax }).then((how) => {
    isTooLarge = how === "too large";
    if (isTooLarge) child.kill();
  });
  const relaying = relay(child.output, response, HEAD).then(async () => {
    await child.ended;
    if (response.headersSent) response.end();
  });
  const [fed, relayed] = await Promise.allSettled([feeding, relaying]);
  if (isTooLarge)
    throw new PlatformError("PUSH_TOO_LARGE", {
      detail: `It may have ${bytesMax} bytes, compressed.`,
      remedy: "Take large files out of the history that is pushed, for instance with git filter-repo.",
    });
  for (const part of [fed, relayed]) if (part.status === "rejected") throw part.reason;
  if (!response.headersSent) response.writeHead(200, { ...NO_CACHE, ...HEAD }).end();
}

interface Trial {
  readonly nonce: string;
  isHeard(): boolean; // The hook spoke: it is being judged, or was.
  isAccepted(): boolean;
  /** Resolves when whoever judges is done. */
  judged(): Promise<void>;
  close(): void;
}

function openTrial(parts: PushParts, about: Exchange & { readonly repository: string }): Trial {
  let judging: Promise<boolean> | null = null;
  let isAccepted = false;
  let leaveTurn = (): void => undefined;
  const hear = async (hello: HookHello, line: HookLine): Promise<boolean> => {
    const signal = AbortSignal.any([about.signal, line.signal]);
    const onWait = (): void => line.print("Another change of this app's repository is on its way; this push waits for it.");
    try {
      leaveTurn = await parts.repositories.turns.take(about.appId, { signal, onWait });
      await removeLeftovers(about.repository, parts.clock.nowEpochMs());
      const verdict = await judgePush(parts, { ...about, signal }, { hello, line });
      isAccepted = verdict.kind === "accepted";
      if (verdict.kind === "rejected") linesOf(verdict.reason).forEach((text) => line.print(text));
      line.exit(isAccepted ? 0 : 1);
    } catch (cause) {
      if (!(cause instanceof PlatformError) && !signal.aborted) parts.report(`A push of ${about.by} failed: ${stackOf(cause)}`);
      linesOfError(cause)
        .flatMap(linesOf)
        .forEach((text) => line.print(text));
      line.exit(1);
    }
    return isAccepted;
  };
  const expected = parts.hookSocket.expect((hello, line) => {
    judging = hear(hello, line); // Never rejects; judged() is where it is waited for.
  });
  return {
    nonce: expected.nonce,
    isHeard: () => judging !== null,
    isAccepted: () => isAccepted,
    judged: async () => void (await judging),
    close: () => {
      expected.forget();
      leaveTurn();
    },
  };
}

const stackOf = (cause: unknown): string => (cause instanceof Error ? (cause.stack ?? cause.message) : String(cause));

/** What was delivered and where the branch is should be the same; where a disk was full in between, somebody has to know. */
async function settle(
  { repositories, report }: PushParts,
  repository: string,
  { trial, commands }: { readonly trial: Trial; readonly commands: readonly RefCommand[] },
): Promise<void> {
  if (!trial.isHeard()) return;
  try {
    const head = await repositories.defaultBranch(repository);
    const pushed = commands.find(({ ref }) => ref === branchRef(head.branch));
    if (pushed !== undefined && trial.isAccepted() && pushed.newId !== head.commit)
      report(`${head.branch} was delivered as ${pushed.newId}, and git did not move it there: it is at ${head.commit}. Push again.`);
    if (trial.isAccepted()) await repositories.upkeep(repository);
  } catch (cause) {
    report(`A repository could not be looked after: ${cause instanceof Error ? cause.message : String(cause)}`);
  }
}
