// The repositories of the apps, bare ones in the home: made, read, committed to, checked out.
import { randomBytes } from "node:crypto";
import { access, mkdir, mkdtemp, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { pipeline } from "node:stream/promises";
import { PlatformError } from "../../runtime-image/contract/errors.ts";
import {
  GIT_CALL_TIMEOUT_MS,
  GIT_COMMIT_TRY_COUNT_MAX,
  GIT_TURN_TIMEOUT_MS,
  GIT_UPKEEP_TIMEOUT_MS,
  GIT_WAITING_COUNT_MAX,
} from "../../runtime-image/contract/limits.ts";
import { type Clock, systemClock } from "../clock.ts";
import type { SourceFacts } from "../sources/write-source.ts";
import { type CheckOutOptions, type TreePlace, checkOutCommit, checkedId, commitNotFound, treeOf } from "./check-out.ts";
import { type CommitFacts, FACTS_FORMAT, commitFacts } from "./commit-facts.ts";
import { commitStream, parseAnswer } from "./commit-stream.ts";
import { type Git, createGit, gitFailed } from "./git-command.ts";
import { removeLeftovers } from "./leftovers.ts";
import { branchRef } from "./push-commands.ts";
import { type KeyedSlots, createKeyedSlots } from "./slots.ts";

export interface Repositories {
  /** Makes the app's repository where there is none; the default branch is main until the first push names another one. */
  ensure(appId: string): Promise<void>;
  remove(appId: string): Promise<void>;
  /** Null where nothing was committed yet. */
  head(appId: string): Promise<{ readonly branch: string; readonly commit: string } | null>;
  /**
   * Commits a folder as it is on top of the default branch, byte for byte and without anything called .git; the same tree makes no
   * commit. Waits for a push that is being delivered, so whoever receives pushes must not call it for the same app meanwhile.
   */
  commitFolder(appId: string, folder: string, about: CommitAbout): Promise<{ readonly commit: string; readonly isNew: boolean }>;
  checkOut(appId: string, commit: string, options: CheckOutOptions): Promise<SourceFacts>;
  describe(appId: string, commit: string): Promise<CommitFacts>;
}

export interface CommitAbout {
  readonly message: string;
  readonly by: string;
  /** Throws GIT_MOVED unless the branch is there (null: unless nothing is). Without it, the folder takes the place of whatever is. */
  readonly onTopOf?: string | null;
}

/** The same, and what the door for pushes needs of it. */
export interface OwnRepositories extends Repositories {
  readonly folder: string;
  readonly git: Git;
  /** One at a time changes the refs of a repository. */
  readonly turns: KeyedSlots;
  /** The app's repository, which is there. */
  placeOf(appId: string): Promise<string>;
  defaultBranch(repository: string): Promise<{ readonly branch: string; readonly commit: string | null }>;
  describeIn(place: TreePlace, commit: string): Promise<CommitFacts>;
  /** Packs what has become many. Only who has the turn. */
  upkeep(repository: string): Promise<void>;
}

export interface RepositoriesParts {
  readonly folder: string; // <home>/repositories, absolute.
  readonly searchPath: string;
  readonly turnTimeoutMs?: number;
  readonly clock?: Clock;
}

// An app's id, which becomes the name of a folder. That of another spelling is a bug of the caller's.
const APP_ID = /^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/;
const GIT_HOME = ".git-home"; // No app's id begins with a dot.

export function createRepositories(parts: RepositoriesParts): OwnRepositories {
  const { folder, searchPath, turnTimeoutMs = GIT_TURN_TIMEOUT_MS, clock = systemClock } = parts;
  const git = createGit({ folder: join(folder, GIT_HOME), searchPath });
  const turns = createKeyedSlots({
    countAtOnce: 1,
    waitingCountMax: GIT_WAITING_COUNT_MAX,
    timeoutMs: turnTimeoutMs,
    what: "Other changes of this app's repository",
  });
  const pathOf = (appId: string): string => {
    if (!APP_ID.test(appId)) throw new Error(`no app's id: ${JSON.stringify(appId.slice(0, 100))}`);
    return join(folder, `${appId}.git`);
  };
  const placeOf = async (appId: string): Promise<string> => {
    const repository = pathOf(appId);
    if (!(await isThere(join(repository, "HEAD")))) await make(git, folder, repository);
    return repository;
  };
  /** Who only looks makes nothing: the app may be gone. */
  const placeIfThere = async (appId: string): Promise<string | null> => {
    const repository = pathOf(appId);
    return (await isThere(join(repository, "HEAD"))) ? repository : null;
  };
  const placeWith = async (appId: string, commit: string): Promise<TreePlace> => {
    const repository = await placeIfThere(appId);
    if (repository === null) throw commitNotFound(commit);
    return { repository };
  };
  const inTurn = async <Value>(appId: string, work: () => Promise<Value>): Promise<Value> => {
    const giveBack = await turns.take(appId, { signal: new AbortController().signal });
    try {
      return await work();
    } finally {
      giveBack();
    }
  };

  return {
    folder,
    git,
    turns,
    placeOf,
    defaultBranch: async (repository) => defaultBranch(git, repository),
    describeIn: async (place, commit) => describe(git, place, commit),
    upkeep: async (repository) => upkeep(git, repository),
    ensure: async (appId) => void (await placeOf(appId)),
    remove: async (appId) => {
      const repository = pathOf(appId);
      await inTurn(appId, async () => {
        const leaving = join(folder, `.leaving-${randomBytes(6).toString("hex")}`); // Renamed first: half a repository is none.
        if (await isThere(repository)) await rename(repository, leaving);
        await rm(leaving, { recursive: true, force: true });
      });
    },
    head: async (appId) => {
      const repository = await placeIfThere(appId);
      const { branch, commit } = repository === null ? NO_HEAD : await defaultBranch(git, repository);
      return commit === null ? null : { branch, commit };
    },
    commitFolder: async (appId, source, about) => {
      const repository = await placeOf(appId);
      return inTurn(appId, async () => {
        await removeLeftovers(repository, clock.nowEpochMs());
        const made = await commitFolder(git, repository, { source, about, epochMs: clock.nowEpochMs() });
        if (made.isNew) await upkeep(git, repository).catch(() => undefined); // The commit is made; the next one tries again.
        return made;
      });
    },
    checkOut: async (appId, commit, options) => checkOutCommit(git, await placeWith(appId, commit), commit, options),
    describe: async (appId, commit) => describe(git, await placeWith(appId, commit), commit),
  };
}

const NO_HEAD = { branch: "main", commit: null };

const isThere = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  );

/** Wholly or not at all, also where two make the same one at once. */
async function make(git: Git, folder: string, repository: string): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const unfinished = await mkdtemp(join(folder, ".new-"));
  try {
    await git.run(["init", "--bare", "--quiet", "--template=", "."], { repository: unfinished });
    await git.run(["symbolic-ref", "HEAD", branchRef("main")], { repository: unfinished }); // Before 2.28, git knows no init.defaultBranch.
    await rename(unfinished, repository);
  } catch (cause) {
    await rm(unfinished, { recursive: true, force: true });
    if (!(await isThere(join(repository, "HEAD")))) throw cause;
  }
}

async function defaultBranch(git: Git, repository: string): Promise<{ readonly branch: string; readonly commit: string | null }> {
  const ref = (await git.run(["symbolic-ref", "--quiet", "HEAD"], { repository })).output.toString().trimEnd();
  const found = await git.run(["rev-parse", "--verify", "--quiet", ref], { repository, exitCodes: [0, 1] });
  return { branch: ref.slice(branchRef("").length), commit: found.exitCode === 0 ? found.output.toString("latin1").trim() : null };
}

async function describe(git: Git, place: TreePlace, commit: string): Promise<CommitFacts> {
  const args = ["log", "-1", "--no-show-signature", "--encoding=UTF-8", FACTS_FORMAT, checkedId(commit)];
  const { exitCode, output } = await git.run(args, { ...place, outputBytesMax: FACTS_BYTES_MAX, isCut: true, exitCodes: [0, 128] });
  if (exitCode !== 0 || output.length === 0) throw commitNotFound(commit); // The latter where it is another kind of object.
  return commitFacts(output.toString());
}

const FACTS_BYTES_MAX = 16_384; // More than what is shown of it.

interface CommitPlan {
  readonly source: string;
  readonly about: CommitAbout;
  readonly epochMs: number;
}

/** Another process may move the branch, if nobody here does: then it is tried again on top of what is there. */
async function commitFolder(git: Git, repository: string, plan: CommitPlan): Promise<{ readonly commit: string; readonly isNew: boolean }> {
  for (let tryCount = 0; tryCount < GIT_COMMIT_TRY_COUNT_MAX; tryCount += 1) {
    const head = await defaultBranch(git, repository);
    const { onTopOf } = plan.about;
    if (onTopOf !== undefined && onTopOf !== head.commit) throw moved(head.branch);
    const made = await importFolder(git, repository, { ...plan, parent: head.commit });
    if (head.commit !== null && (await treeOf(git, { repository }, head.commit)) === made.tree)
      return { commit: head.commit, isNew: false };
    const update = ["update-ref", "--no-deref", branchRef(head.branch), made.commit, head.commit ?? NOTHING];
    const { exitCode } = await git.run(update, { repository, exitCodes: [0, 1, 128] });
    if (exitCode === 0) return { commit: made.commit, isNew: true };
    const now = await defaultBranch(git, repository);
    if (now.commit === head.commit) throw gitFailed(update, { exitCode, said: `${branchRef(head.branch)} cannot be written` });
  }
  throw new PlatformError("GIT_BUSY", { detail: "Its branch moved again and again meanwhile.", remedy: "Try again in a moment." });
}

const NOTHING = "0".repeat(40);

const moved = (branch: string): PlatformError =>
  new PlatformError("GIT_MOVED", {
    detail: `The branch ${branch} is not where it was expected any more.`,
    remedy: "Read it again, and try again on top of that.",
  });

/** The commit is there afterwards, and no ref leads to it. */
async function importFolder(
  git: Git,
  repository: string,
  { source, about, epochMs, parent }: CommitPlan & { readonly parent: string | null },
): Promise<{ readonly commit: string; readonly tree: string }> {
  // Compressed little: whoever deploys waits for it.
  const args = ["-c", "pack.compression=1", "fast-import", "--quiet", "--done", "--date-format=raw"];
  const child = await git.start(args, { repository, timeoutMs: GIT_CALL_TIMEOUT_MS });
  const ref = `refs/orchestrator/${randomBytes(8).toString("hex")}`;
  const stream = Readable.from(commitStream({ folder: source, parent, ref, epochMs, message: about.message, by: about.by }));
  const answering = text(child.output).catch(() => ""); // Two lines; nothing where it is ended.
  const failure = await pipeline(stream, child.input).then(
    () => null,
    (cause: unknown) => ({ cause }),
  );
  if (failure !== null && !isBrokenPipe(failure.cause)) child.kill();
  const [answer, end] = await Promise.all([answering, child.ended]);
  if (failure !== null && !isBrokenPipe(failure.cause)) throw failure.cause;
  const made = parseAnswer(answer);
  if (end.exitCode !== 0 || made === null) throw gitFailed(args, end);
  return made;
}

/** Git ended by itself, and says why. */
const isBrokenPipe = (cause: unknown): boolean =>
  cause instanceof Error && "code" in cause && (cause.code === "EPIPE" || cause.code === "ERR_STREAM_PREMATURE_CLOSE");

/** Quick where nothing has to be done. What nobody can reach is kept for two weeks, as git does by itself. */
async function upkeep(git: Git, repository: string): Promise<void> {
  const args = ["-c", "gc.auto=2000", "-c", "gc.autoPackLimit=50", "gc", "--auto", "--quiet"];
  await git.run(args, { repository, timeoutMs: GIT_UPKEEP_TIMEOUT_MS });
}
