// One push from the moment that git has its objects to the verdict: in its turn, checked as git will check it, and delivered.
import { basename, join } from "node:path";
import { PlatformError } from "../../runtime-image/contract/errors.ts";
import { DELIVERY_LINE_LENGTH_MAX } from "../../runtime-image/contract/limits.ts";
import { checkOutCommit, type TreePlace } from "./check-out.ts";
import { plainLine } from "./commit-facts.ts";
import type { HookHello, HookLine } from "./hook-socket.ts";
import { branchRef, commandOf, commandsProblem, defaultBranchAfter, type RefCommand } from "./push-commands.ts";
import type { PushReceiver, PushVerdict, RefUpdate } from "./received-push.ts";
import type { OwnRepositories } from "./repositories.ts";

export interface PushAbout {
  readonly appId: string;
  readonly by: string;
  readonly repository: string;
  readonly signal: AbortSignal;
}

export interface Judge {
  readonly repositories: OwnRepositories;
  readonly receiver: PushReceiver;
}

/** Only who has the repository's turn may ask. Throws what stands against the push as well. */
export async function judgePush(
  judge: Judge,
  about: PushAbout,
  { hello, line }: { hello: HookHello; line: HookLine },
): Promise<PushVerdict> {
  const { repositories } = judge;
  const place: TreePlace = { repository: about.repository, quarantine: quarantineOf(about.repository, hello.quarantine) };
  const commands = commandsOf(hello.updates);
  const head = await repositories.defaultBranch(about.repository);
  const defaultBranch = defaultBranchAfter(head, commands);
  const problem = commandsProblem(commands, head.branch) ?? (await refsProblem(repositories, place, commands));
  if (problem !== null) return { kind: "rejected", reason: problem };
  const verdict = await judge.receiver.received({
    appId: about.appId,
    by: about.by,
    defaultBranch,
    updates: await updatesOf(repositories, place, commands),
    checkOut: async (commit, options) =>
      checkOutCommit(repositories.git, place, commit, { ...options, signal: AbortSignal.any([options.signal, about.signal]) }),
    describe: async (commit) => repositories.describeIn(place, commit),
    print: (text) => linesOf(text).forEach((one) => line.print(one)),
    signal: about.signal,
  });
  // Before git makes the branch: were it the other way round, a platform that is killed between would never say which is the default one.
  if (verdict.kind === "accepted" && defaultBranch !== head.branch)
    await repositories.git.run(["symbolic-ref", "HEAD", branchRef(defaultBranch)], { repository: about.repository });
  return verdict;
}

/** Git says the whole path; only its last name is taken from there. */
function quarantineOf(repository: string, said: string | null): string | undefined {
  if (said === null) return undefined;
  const name = basename(said);
  if (!/^(?:tmp_objdir-)?incoming-[A-Za-z0-9]+$/.test(name)) throw new PlatformError("GIT_FAILED", { detail: "Git names no quarantine." });
  return join(repository, "objects", name);
}

function commandsOf(updates: string): RefCommand[] {
  const lines = updates.split("\n").filter((text) => text !== "");
  return lines.map((text) => {
    const command = commandOf(text);
    if (command === null) throw new PlatformError("GIT_FAILED", { detail: "Git names an update that is none." });
    return command;
  });
}

/** Git itself would find out after the delivery that a ref is elsewhere, that it cannot be called so, or that a branch would be no commit. */
async function refsProblem({ git }: OwnRepositories, place: TreePlace, commands: readonly RefCommand[]): Promise<string | null> {
  const input = ["start", ...commands.map(refLine), "prepare", "abort", ""].join("\n");
  try {
    await git.run(["update-ref", "--no-deref", "--stdin"], { ...place, input });
    return null;
  } catch (cause) {
    if (!(cause instanceof PlatformError) || cause.code !== "GIT_FAILED") throw cause;
    return `These refs cannot be changed so. ${cause.detail.detail ?? ""} Fetch, and push again.`;
  }
}

function refLine({ ref, oldId, newId }: RefCommand): string {
  if (newId === null) return oldId === null ? `verify ${ref}` : `delete ${ref} ${oldId}`;
  return oldId === null ? `create ${ref} ${newId}` : `update ${ref} ${newId} ${oldId}`;
}

async function updatesOf({ git }: OwnRepositories, place: TreePlace, commands: readonly RefCommand[]): Promise<RefUpdate[]> {
  const ids = commands.flatMap(({ newId }) => newId ?? []);
  const input = ids.map((id) => `${id}^{commit}\n`).join("");
  const { output } = await git.run(["cat-file", "--batch-check"], { ...place, input });
  const peeled = new Map(
    output
      .toString()
      .split("\n")
      .map((text, index) => [ids[index] ?? "", /^([0-9a-f]+) commit /.exec(text)?.[1] ?? null]),
  );
  return commands.map(({ ref, oldId, newId }) => ({
    ref,
    oldCommit: oldId,
    newCommit: newId,
    peeledCommit: newId === null ? null : (peeled.get(newId) ?? null),
  }));
}

/** What someone else wrote must not act on the terminal of who pushes. */
export const linesOf = (text: string): string[] => text.split(/\r?\n|\r/).map((line) => plainLine(line.slice(0, DELIVERY_LINE_LENGTH_MAX)));
