// The only file that knows how the machine's git is called: which one, in what environment, for how long, and how much it may say.
import { spawn } from "node:child_process";
import { constants } from "node:fs";
import { access, mkdir, readFile } from "node:fs/promises";
import { delimiter, isAbsolute, join } from "node:path";
import type { Readable, Writable } from "node:stream";
import { PlatformError } from "../../runtime-image/contract/errors.ts";
import { GIT_ALLOCATION_BYTES_MAX, GIT_COMMAND_TIMEOUT_MS, GIT_OUTPUT_BYTES_MAX } from "../../runtime-image/contract/limits.ts";
import { writeFileAtomic } from "../processes/atomic-file.ts";
import { shown } from "./commit-facts.ts";
import { gitConfig } from "./git-config.ts";

export interface GitCall {
  readonly repository: string; // Absolute: the bare repository's folder.
  /** Where it may end early: its owner went away, the platform stops. */
  readonly signal?: AbortSignal;
  readonly timeoutMs?: number;
  /** Objects that were pushed and not taken yet. */
  readonly quarantine?: string | undefined;
  readonly environment?: Readonly<Record<string, string>>;
}

export interface RunCall extends GitCall {
  readonly input?: string;
  readonly outputBytesMax?: number;
  /** What is beyond it is left out, where the beginning is all that counts. Without it, too much is a failure. */
  readonly isCut?: boolean;
  readonly exitCodes?: readonly number[]; // That are no failure. 0 alone, unless said.
}

export interface GitResult {
  readonly exitCode: number;
  readonly output: Buffer;
}

export interface GitEnd {
  readonly exitCode: number | null; // Null: a signal ended it.
  readonly said: string; // The end of what it wrote to stderr.
}

export interface GitChild {
  readonly input: Writable;
  readonly output: Readable; // To be iterated, to its end or until kill().
  /** Never rejects. Resolves when all of its processes that hold its output are gone, too. */
  readonly ended: Promise<GitEnd>;
  /** Asks it and what it started to end, and then makes them. */
  kill(): void;
}

export interface Git {
  /** Throws GIT_FAILED unless it ends as it should, GIT_MISSING where there is none. */
  run(args: readonly string[], call: RunCall): Promise<GitResult>;
  start(args: readonly string[], call: GitCall): Promise<GitChild>;
  readonly hooksFolder: string; // Where git looks for hooks of every repository.
}

const SAID_BYTES_MAX = 8_192;
const SHOWN_LENGTH_MAX = 400;
const KILL_GRACE_MS = 2_000; // Git removes what a push left in that time: milliseconds are enough.

/** `folder` is git's own home, with the only configuration that it reads. */
export function createGit({ folder, searchPath }: { readonly folder: string; readonly searchPath: string }): Git {
  const hooksFolder = join(folder, "hooks");
  const programs = searchPath.split(delimiter).filter(isAbsolute);
  let configured: Promise<void> | null = null;
  const configure = async (): Promise<void> => {
    configured ??= writeConfig(folder, hooksFolder).catch((cause: unknown) => {
      configured = null; // The next one tries again.
      throw cause;
    });
    return configured;
  };
  const start: Git["start"] = async (args, call) => {
    const command = await findGit(programs); // Each time: it may be installed, or moved, while the platform runs.
    await configure();
    const environment = { ...gitEnvironment(folder, programs), ...placeVariables(call), ...call.environment };
    return startChild({ command, args, environment, call });
  };
  return { hooksFolder, start, run: async (args, call) => runChild(await start(args, call), args, call) };
}

async function writeConfig(folder: string, hooksFolder: string): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const file = join(folder, ".gitconfig");
  const text = gitConfig(hooksFolder);
  const before = await readFile(file, "utf8").catch(() => null);
  if (before !== text) await writeFileAtomic(file, text, 0o600);
}

/** Throws GIT_MISSING where it is in none of the folders. */
export async function findGit(folders: readonly string[]): Promise<string> {
  for (const folder of folders) {
    const program = join(folder, "git");
    const isThere = await access(program, constants.X_OK).then(
      () => true,
      () => false,
    );
    if (isThere) return program;
  }
  throw new PlatformError("GIT_MISSING", {
    detail: `Looked for it in ${folders.join(", ") || "no folder at all"}.`,
    remedy: "Install git, for instance with: apt-get install git. Nothing has to be started again.",
  });
}

/** All that a git of ours knows: nothing of the environment that the platform runs in, or of the machine's configuration. */
const gitEnvironment = (folder: string, programs: readonly string[]): Record<string, string> => ({
  PATH: programs.join(delimiter),
  HOME: folder, // Before 2.32, git knows no GIT_CONFIG_GLOBAL and looks for .gitconfig there.
  XDG_CONFIG_HOME: join(folder, "none"),
  GIT_CONFIG_GLOBAL: join(folder, ".gitconfig"),
  GIT_CONFIG_NOSYSTEM: "1",
  GIT_ATTR_NOSYSTEM: "1",
  GIT_TERMINAL_PROMPT: "0",
  GIT_DIR: ".", // The folder that it runs in. Looked for, it might be found further up: a home may lie in its owner's own repository.
  GIT_NO_REPLACE_OBJECTS: "1", // Who pushes refs/replace/… must not change what a commit's name stands for.
  GIT_NO_LAZY_FETCH: "1",
  GIT_DEFAULT_HASH: "sha1", // Those of 3.0 would choose something that older clients cannot push to.
  GIT_DEFAULT_REF_FORMAT: "files",
  // A few bytes can describe a delta whose result takes gigabytes. Git knows this variable for its own tests (wrapper.c).
  GIT_ALLOC_LIMIT: String(GIT_ALLOCATION_BYTES_MAX),
  LC_ALL: "C",
  TZ: "UTC",
});

function placeVariables({ repository, quarantine }: GitCall): Record<string, string> {
  if (quarantine === undefined) return {};
  return { GIT_OBJECT_DIRECTORY: quarantine, GIT_ALTERNATE_OBJECT_DIRECTORIES: alternate(join(repository, "objects")) };
}

/** A list divided by ":", in which a path with odd characters stands as a string of C. */
const alternate = (path: string): string =>
  /[:;"\\\n]/.test(path) ? `"${path.replaceAll(/["\\]/g, "\\$&").replaceAll("\n", "\\n")}"` : path;

interface Start {
  readonly command: string;
  readonly args: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  readonly call: GitCall;
}

function startChild({ command, args, environment, call }: Start): GitChild {
  call.signal?.throwIfAborted();
  // Of a group of its own, so that it can be ended with all that it started.
  const child = spawn(command, args, { cwd: call.repository, env: { ...environment }, stdio: ["pipe", "pipe", "pipe"], detached: true });
  let isOver = false;
  let lastTimer: NodeJS.Timeout | null = null;
  const signalGroup = (signal: NodeJS.Signals): void => {
    if (isOver || child.pid === undefined) return;
    try {
      process.kill(-child.pid, signal);
    } catch {
      // It ended between the look and the signal, which is what was wanted.
    }
  };
  const kill = (): void => {
    child.stdout.destroy(); // What nobody reads would keep it from being over.
    signalGroup("SIGTERM");
    lastTimer ??= setTimeout(() => signalGroup("SIGKILL"), KILL_GRACE_MS);
  };
  const deadline = setTimeout(kill, call.timeoutMs ?? GIT_COMMAND_TIMEOUT_MS);
  call.signal?.addEventListener("abort", kill, { once: true });
  let said = Buffer.alloc(0);
  child.stderr.on("data", (chunk: Buffer) => {
    said = Buffer.concat([said, chunk]).subarray(-SAID_BYTES_MAX);
  });
  child.stdout.on("readable", () => undefined); // Else Node throws away what nobody reads yet when the child ends (flushStdio).
  child.stdin.on("error", () => undefined); // One that reads no further says why on stderr, or does not need it.
  const ended = new Promise<GitEnd>((resolve) => {
    const end = (exitCode: number | null, text: string): void => {
      isOver = true;
      clearTimeout(deadline);
      if (lastTimer !== null) clearTimeout(lastTimer);
      call.signal?.removeEventListener("abort", kill);
      resolve({ exitCode, said: text });
    };
    child.once("close", (exitCode) => end(exitCode, said.toString()));
    child.once("error", (cause) => end(null, cause.message));
  });
  return { input: child.stdin, output: child.stdout, ended, kill };
}

async function runChild(child: GitChild, args: readonly string[], call: RunCall): Promise<GitResult> {
  const outputBytesMax = call.outputBytesMax ?? GIT_OUTPUT_BYTES_MAX;
  child.input.end(call.input ?? "");
  const output = await readUpTo(child.output, outputBytesMax + 1);
  const isTooMuch = output.length > outputBytesMax;
  if (isTooMuch) child.kill();
  const end = await child.ended;
  if (isTooMuch && call.isCut === true) return { exitCode: 0, output: output.subarray(0, outputBytesMax) };
  if (isTooMuch) throw gitFailed(args, { ...end, said: `It said more than ${outputBytesMax} bytes.` });
  call.signal?.throwIfAborted();
  if (end.exitCode === null || !(call.exitCodes ?? [0]).includes(end.exitCode)) throw gitFailed(args, end);
  return { exitCode: end.exitCode, output };
}

/** Nothing where it was ended meanwhile, which its end tells. */
async function readUpTo(stream: Readable, bytesMax: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      chunks.push(chunk);
      bytes += chunk.length;
      if (bytes >= bytesMax) break;
    }
  } catch {
    return Buffer.alloc(0);
  }
  return Buffer.concat(chunks).subarray(0, bytesMax);
}

export function gitFailed(args: readonly string[], { exitCode, said }: GitEnd): PlatformError {
  const how = exitCode === null ? "was ended" : `ended with ${exitCode}`;
  const name = args.find((arg) => /^[a-z]/.test(arg) && !arg.includes("=")) ?? "";
  return new PlatformError("GIT_FAILED", { detail: `git ${name} ${how}: ${shown(said, SHOWN_LENGTH_MAX) || "it said nothing"}.` });
}
