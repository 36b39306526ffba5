// Repositories behind their door on a server of their own, and the machine's own git as the client.
import { type ChildProcess, spawn } from "node:child_process";
import { mkdir, mkdtemp, readdir, realpath, rm, writeFile } from "node:fs/promises";
import { type Server, createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createGitDoor, type GitDoor, type PushReceiver, type PushVerdict, type ReceivedPush } from "../../orchestrator/git/git-door.ts";
import { createRepositories, type OwnRepositories } from "../../orchestrator/git/repositories.ts";

export interface GitWorld {
  readonly folder: string; // Whatever lies in it goes with it.
  readonly repositories: OwnRepositories;
  readonly door: GitDoor;
  readonly reports: readonly string[];
  /** What was received, in order. */
  readonly pushes: readonly ReceivedPush[];
  urlOf(appId: string): string;
  port(): number;
  /** How pushes are received from now on. */
  receive(how: (push: ReceivedPush) => Promise<PushVerdict>): void;
  /** A folder for a client, which is there. */
  newFolder(name: string): Promise<string>;
  close(): Promise<void>;
}

export interface WorldSettings {
  readonly pushBytesMax?: number;
  readonly turnTimeoutMs?: number;
  readonly mayPush?: boolean;
  readonly homeName?: string;
  readonly searchPath?: string; // Of the platform; that of clients is the machine's.
}

export const ACCEPTED: PushVerdict = { kind: "accepted" };
export const rejected = (reason: string): PushVerdict => ({ kind: "rejected", reason });

export async function startGitWorld({
  pushBytesMax,
  turnTimeoutMs,
  mayPush = true,
  homeName = "home",
  searchPath,
}: WorldSettings = {}): Promise<GitWorld> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), "git-world-")));
  const home = join(folder, homeName);
  const repositories = createRepositories({
    folder: join(home, "repositories"),
    searchPath: searchPath ?? process.env["PATH"] ?? "",
    ...(turnTimeoutMs === undefined ? {} : { turnTimeoutMs }),
  });
  const pushes: ReceivedPush[] = [];
  const reports: string[] = [];
  let how = async (_push: ReceivedPush): Promise<PushVerdict> => ACCEPTED;
  const receiver: PushReceiver = {
    received: async (push) => {
      pushes.push(push);
      return how(push);
    },
  };
  const door = await createGitDoor({
    repositories,
    receiver,
    socketFolder: join(home, "push"),
    nodePath: process.execPath,
    report: (text) => void reports.push(text),
    ...(pushBytesMax === undefined ? {} : { pushBytesMax }),
  });
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? "/", "http://localhost");
    const [, appId = "", rest = ""] = /^\/git\/([^/]+)\.git(\/.*)$/.exec(url.pathname) ?? [];
    door.answer(request, response, { appId, rest, query: url.searchParams, by: "tester", mayPush });
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  return {
    folder,
    repositories,
    door,
    reports,
    pushes,
    port: () => portOf(server),
    urlOf: (appId) => `http://127.0.0.1:${portOf(server)}/git/${appId}.git`,
    receive: (next) => void (how = next),
    newFolder: async (name) => {
      const path = join(folder, name);
      await mkdir(path, { recursive: true });
      return path;
    },
    close: async () => {
      await door.close();
      server.closeAllConnections();
      await new Promise<void>((done) => server.close(() => done()));
      await rm(folder, { recursive: true, force: true });
    },
  };
}

function portOf(server: Server): number {
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("the server does not listen");
  return address.port;
}

/** What a killed push may leave in a repository. */
export async function quarantinesIn(world: GitWorld, appId: string): Promise<string[]> {
  const names = await readdir(join(await world.repositories.placeOf(appId), "objects"));
  return names.filter((name) => name.includes("incoming-"));
}

export interface ClientEnd {
  readonly exitCode: number | null;
  readonly output: string; // What it wrote to stdout,
  readonly said: string; // and to stderr.
}

export interface Client {
  readonly child: ChildProcess;
  said(): string;
  readonly ended: Promise<ClientEnd>;
}

const CLIENT_TIMEOUT_MS = 30_000;
const IDENTITY = { NAME: "Ada Example", EMAIL: "ada@example.com" };

/** As a person's git, but for its configuration, which is none. */
export function startClient(folder: string, args: readonly string[], environment: Readonly<Record<string, string>> = {}): Client {
  const child = spawn("git", args, {
    cwd: folder,
    stdio: ["ignore", "pipe", "pipe"],
    timeout: CLIENT_TIMEOUT_MS,
    detached: true, // So that a test may end it with its helpers.
    env: {
      PATH: process.env["PATH"] ?? "",
      HOME: folder,
      GIT_CONFIG_NOSYSTEM: "1",
      GIT_CONFIG_GLOBAL: "/dev/null",
      GIT_TERMINAL_PROMPT: "0",
      GIT_AUTHOR_NAME: IDENTITY.NAME,
      GIT_AUTHOR_EMAIL: IDENTITY.EMAIL,
      GIT_COMMITTER_NAME: IDENTITY.NAME,
      GIT_COMMITTER_EMAIL: IDENTITY.EMAIL,
      LC_ALL: "C.UTF-8",
      ...environment,
    },
  });
  let output = "";
  let said = "";
  child.stdout.on("data", (chunk: Buffer) => (output += chunk.toString()));
  child.stderr.on("data", (chunk: Buffer) => (said += chunk.toString()));
  const ended = new Promise<ClientEnd>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (exitCode) => resolve({ exitCode, output, said }));
  });
  return { child, said: () => said, ended };
}

export const client = async (folder: string, args: readonly string[], environment?: Readonly<Record<string, string>>): Promise<ClientEnd> =>
  startClient(folder, args, environment).ended;

/** The same, where anything but success is a mistake of the test's. */
export async function mustClient(folder: string, args: readonly string[], environment?: Readonly<Record<string, string>>): Promise<string> {
  const end = await client(folder, args, environment);
  if (end.exitCode !== 0) throw new Error(`git ${args.join(" ")}: ${end.exitCode}\n${end.said}`);
  return end.output.trim();
}

/** A client's folder, whose origin is the app's repository. */
export async function newClone(world: GitWorld, appId: string, name: string): Promise<string> {
  const folder = await world.newFolder(name);
  await mustClient(folder, ["init", "-q", "-b", "main"]);
  await mustClient(folder, ["remote", "add", "origin", world.urlOf(appId)]);
  return folder;
}

export async function commitFile(folder: string, name: string, text: string): Promise<void> {
  await writeFile(join(folder, name), text);
  await mustClient(folder, ["add", "."]);
  await mustClient(folder, ["commit", "-q", "-m", `adds ${name}`]);
}

export function killGroup({ child }: Client): void {
  if (child.pid === undefined) throw new Error("the client did not start");
  process.kill(-child.pid, "SIGKILL");
}
