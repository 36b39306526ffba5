// What a push asks for, read before git is: which refs are to change, and whether their names are names. Git would check those after the delivery.
import { GIT_REF_COUNT_MAX, GIT_REF_NAME_BYTES_MAX } from "../../runtime-image/contract/limits.ts";
import type { ByteReader } from "./byte-reader.ts";
import { FLUSH, readPkt } from "./pkt-line.ts";

export interface RefCommand {
  readonly ref: string;
  readonly oldId: string | null; // Null: it is made.
  readonly newId: string | null; // Null: it is deleted.
}

export type PushCommands =
  | {
      readonly kind: "commands";
      readonly commands: readonly RefCommand[];
      readonly capabilities: ReadonlySet<string>;
      readonly bytes: Buffer;
    }
  | { readonly kind: "malformed"; readonly problem: string; readonly capabilities: ReadonlySet<string> };

/** The reader stands at the pack afterwards. No commands at all: a client that only tries whether it may. */
export async function readPushCommands(reader: ByteReader): Promise<PushCommands> {
  const commands: RefCommand[] = [];
  const capabilities = new Set<string>();
  const raw: Buffer[] = [];
  const malformed = (problem: string): PushCommands => ({ kind: "malformed", problem, capabilities });
  for (;;) {
    const line = await readPkt(reader);
    if (line.kind === "malformed") return malformed("The push is no valid pkt-line.");
    if (line.kind === "flush") break;
    raw.push(line.raw);
    if (raw.length > GIT_REF_COUNT_MAX) return malformed(`A push changes at most ${GIT_REF_COUNT_MAX} refs.`);
    const { text, extra } = partsOf(line.payload);
    if (/^shallow [0-9a-f]{40,64}$/.test(text)) continue; // Git itself decides about those.
    if (commands.length === 0) for (const capability of extra.split(" ")) capabilities.add(capability);
    const command = commandOf(text);
    if (command === null) return malformed("The push does not say which refs it changes.");
    const problem = refNameProblem(command.ref);
    if (problem !== null) return malformed(`The ref ${JSON.stringify(command.ref.slice(0, 100))} ${problem}.`);
    commands.push(command);
  }
  const names = new Set(commands.map(({ ref }) => ref));
  if (names.size < commands.length) return malformed("The push names a ref twice.");
  return { kind: "commands", commands, capabilities, bytes: Buffer.concat([...raw, FLUSH]) };
}

/** "\0" divides the first command from what the client can do. */
function partsOf(payload: Buffer): { readonly text: string; readonly extra: string } {
  const line = payload.at(-1) === 0x0a ? payload.subarray(0, -1) : payload;
  const end = line.indexOf(0);
  return end < 0
    ? { text: line.toString(), extra: "" }
    : { text: line.toString("utf8", 0, end), extra: line.toString("utf8", end + 1).trim() };
}

const COMMAND = /^([0-9a-f]{40}|[0-9a-f]{64}) ([0-9a-f]{40}|[0-9a-f]{64}) (.+)$/s;

export function commandOf(text: string): RefCommand | null {
  const [, oldId = "", newId = "", ref = ""] = COMMAND.exec(text) ?? [];
  if (ref === "" || oldId.length !== newId.length) return null;
  return { ref, oldId: idOf(oldId), newId: idOf(newId) };
}

const idOf = (id: string): string | null => (/^0+$/.test(id) ? null : id);

/** The rules of git-check-ref-format(1), in which no line end and no escape character can hide; besides, a name is UTF-8 and no longer than a file's. */
export function refNameProblem(ref: string): string | null {
  if (Buffer.byteLength(ref) > GIT_REF_NAME_BYTES_MAX) return `is longer than ${GIT_REF_NAME_BYTES_MAX} bytes`;
  if (!ref.startsWith("refs/")) return 'does not begin with "refs/"';
  if (ref.includes("\u{fffd}") || /[\p{Cc}\p{Cf}\p{Zl}\p{Zp} ~^:?*[\\]/u.test(ref)) return "holds characters that have no place in a name";
  const segments = ref.split("/");
  const isWrong = segments.length < 3 || ref.endsWith(".") || ref.includes("..") || ref.includes("@{");
  if (isWrong || segments.some((name) => name === "" || name.startsWith(".") || name.endsWith(".lock"))) return "is no valid name";
  return null;
}

const BRANCH = "refs/heads/";

export const branchRef = (branch: string): string => `${BRANCH}${branch}`;

/**
 * Which branch is the default one from this push on: the one that it is, once that has a commit; else, what the first push brings
 * says it.
 */
export function defaultBranchAfter(
  head: { readonly branch: string; readonly commit: string | null },
  commands: readonly RefCommand[],
): string {
  const pushed = commands.flatMap(({ ref, newId }) => (newId !== null && ref.startsWith(BRANCH) ? [ref.slice(BRANCH.length)] : []));
  if (head.commit !== null || pushed.includes(head.branch)) return head.branch;
  const [only] = pushed;
  if (only !== undefined && pushed.length === 1) return only;
  return pushed.includes("master") ? "master" : head.branch;
}

/** Null where nothing speaks against it; what it holds is not looked at here. */
export function commandsProblem(commands: readonly RefCommand[], defaultBranch: string): string | null {
  const isDeleting = commands.some(({ ref, newId }) => newId === null && ref === branchRef(defaultBranch));
  return isDeleting
    ? `The branch ${defaultBranch} is the app's default one and cannot be deleted. Push another state of it instead.`
    : null;
}
