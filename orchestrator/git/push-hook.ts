// The program that git runs in the middle of a push: it hands the push to the platform, prints what comes back, and ends as it is told.
import { constants } from "node:fs";
import { access, mkdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { PlatformError } from "../../runtime-image/contract/errors.ts";
import { writeFileAtomic } from "../processes/atomic-file.ts";

export const SOCKET_VARIABLE = "ORCHESTRATOR_PUSH_SOCKET";
export const NONCE_VARIABLE = "ORCHESTRATOR_PUSH_NONCE";
/** What begins a line that the platform sends: text to print, or the exit code. */
export const PRINT = "p";
export const EXIT = "x";
const PROGRAM_FILE = "pre-receive.cjs";

// CommonJS starts sooner. What it gets from git is bounded there: the door has read the list of refs before git did.
const PROGRAM = `// Written by orchestrator whenever it differs; changes are lost.
const { connect } = require("node:net");
const { createInterface } = require("node:readline");

let code = 1;
let isTold = false;
const say = (text) => process.stderr.write(text + "\\n");
const updates = [];
process.stdin.on("data", (chunk) => updates.push(chunk));
process.stdin.on("end", () => {
  const socket = connect(process.env.${SOCKET_VARIABLE} ?? "");
  socket.on("error", () => undefined); // It closes then.
  socket.write(JSON.stringify({
    nonce: process.env.${NONCE_VARIABLE},
    quarantine: process.env.GIT_QUARANTINE_PATH ?? null,
    updates: Buffer.concat(updates).toString(),
  }) + "\\n");
  createInterface({ input: socket }).on("line", (line) => {
    if (line[0] === "${PRINT}") say(line.slice(1));
    if (line[0] !== "${EXIT}") return;
    isTold = true;
    code = Number(line.slice(1));
    socket.end();
  });
  socket.on("close", () => {
    if (!isTold) say("The platform went away before this push was delivered. Nothing has changed; push again.");
    process.exitCode = code;
  });
});
`;

/** A shell starts it, because the first line of a program takes neither spaces nor long paths. */
const starter = (nodePath: string, program: string): string => `#!/bin/sh
exec ${shellQuoted(nodePath)} ${shellQuoted(program)}
`;

const shellQuoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;

const EXECUTABLE_MODE = 0o700;

/** Without it, or where it may not be run, git takes every push unseen: so it is looked at before each one. */
export async function installPushHook(hooksFolder: string, nodePath: string): Promise<void> {
  const program = join(hooksFolder, PROGRAM_FILE);
  const hook = join(hooksFolder, "pre-receive");
  await mkdir(hooksFolder, { recursive: true, mode: 0o700 });
  await writeWhereDifferent(program, { text: PROGRAM, mode: 0o600 });
  await writeWhereDifferent(hook, { text: starter(nodePath, program), mode: EXECUTABLE_MODE });
  await access(hook, constants.X_OK).catch((cause: unknown) => {
    const remedy = "Let the home lie on a disk that is mounted without noexec.";
    throw new PlatformError("GIT_FAILED", { detail: `${hook} may not be run, so pushes cannot be delivered.`, remedy }, { cause });
  });
}

async function writeWhereDifferent(path: string, { text, mode }: { readonly text: string; readonly mode: number }): Promise<void> {
  const facts = await stat(path).catch(() => null);
  const before = await readFile(path, "utf8").catch(() => null);
  if (before !== text || facts === null || (facts.mode & 0o777) !== mode) await writeFileAtomic(path, text, mode);
}
