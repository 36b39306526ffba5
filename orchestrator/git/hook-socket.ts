// The platform's end of the line to the push hook: who has the nonce of a push may speak of it, once.
import { randomBytes } from "node:crypto";
import { chmod, mkdir, mkdtemp, rm } from "node:fs/promises";
import { type Server, type Socket, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { GIT_PRINT_BYTES_PENDING_MAX, GIT_REF_COUNT_MAX, GIT_REF_NAME_BYTES_MAX } from "../../runtime-image/contract/limits.ts";
import { EXIT, PRINT } from "./push-hook.ts";

export interface HookHello {
  readonly quarantine: string | null; // The folder with the pushed objects, as git says it. Null: refs are only deleted.
  readonly updates: string; // "<old> <new> <ref>", a line each.
}

export interface HookLine {
  /** Text without line ends. */
  print(text: string): void;
  /** Lets the hook, and git with it, end; 0 takes the push. */
  exit(code: 0 | 1): void;
  readonly signal: AbortSignal; // The hook is gone.
}

export interface HookSocket {
  readonly path: string;
  /** Resolves once, with the hook that shows this nonce. */
  expect(answer: (hello: HookHello, line: HookLine) => void): { readonly nonce: string; forget(): void };
  close(): Promise<void>;
}

const PATH_BYTES_MAX = 100; // The kernel takes 107, that of macOS 103.
const HELLO_TIMEOUT_MS = 10_000; // The hook speaks at once.
const HELLO_BYTES_MAX = 1_000 + GIT_REF_COUNT_MAX * (GIT_REF_NAME_BYTES_MAX + 200);

export async function openHookSocket(folder: string): Promise<HookSocket> {
  const expected = new Map<string, (hello: HookHello, line: HookLine) => void>();
  const sockets = new Set<Socket>();
  const { path, ownFolder } = await socketPlace(folder);
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
    socket.on("error", () => socket.destroy());
    greet(socket, expected).catch(() => socket.destroy()); // Whoever it is, it is not a hook of ours.
  });
  await listen(server, path);
  await chmod(path, 0o600); // Its folder is closed to others, too.
  return {
    path,
    expect: (answer) => {
      const nonce = randomBytes(32).toString("hex");
      expected.set(nonce, answer);
      return { nonce, forget: () => void expected.delete(nonce) };
    },
    close: async () => {
      const closed = new Promise<void>((done) => server.close(() => done())); // Removes the socket's file.
      for (const socket of sockets) socket.destroy();
      await closed;
      if (ownFolder !== null) await rm(ownFolder, { recursive: true, force: true });
    },
  };
}

/** A home may lie deeper than the name of a socket can say. */
async function socketPlace(folder: string): Promise<{ readonly path: string; readonly ownFolder: string | null }> {
  const path = join(folder, "push.sock");
  if (Buffer.byteLength(path) < PATH_BYTES_MAX) {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    await chmod(folder, 0o700);
    await rm(path, { force: true }); // Of a platform that was killed: a home belongs to one at a time.
    return { path, ownFolder: null };
  }
  const ownFolder = await mkdtemp(join(tmpdir(), "orchestrator-")); // 0700.
  return { path: join(ownFolder, "push.sock"), ownFolder };
}

async function listen(server: Server, path: string): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(path, resolve);
  });
}

async function greet(socket: Socket, expected: Map<string, (hello: HookHello, line: HookLine) => void>): Promise<void> {
  const timer = setTimeout(() => socket.destroy(), HELLO_TIMEOUT_MS);
  try {
    const hello: unknown = JSON.parse(await firstLine(socket));
    if (!isHello(hello)) throw new Error("no hello");
    const answer = expected.get(hello.nonce);
    if (answer === undefined) throw new Error("nobody expects it");
    expected.delete(hello.nonce);
    answer(hello, lineTo(socket));
  } finally {
    clearTimeout(timer);
  }
}

async function firstLine(socket: Socket): Promise<string> {
  return new Promise((resolve, reject) => {
    let bytes = Buffer.alloc(0);
    const take = (chunk: Buffer): void => {
      const chunkEnd = chunk.indexOf("\n");
      const end = chunkEnd < 0 ? -1 : bytes.length + chunkEnd;
      bytes = Buffer.concat([bytes, chunk]);
      if (end < 0 && bytes.length <= HELLO_BYTES_MAX) return;
      socket.off("data", take);
      socket.resume(); // What else it says is of no interest, but its end is.
      if (end < 0) reject(new Error("too long"));
      else resolve(bytes.toString("utf8", 0, end));
    };
    socket.on("data", take);
    socket.once("close", () => reject(new Error("it said nothing")));
  });
}

function isHello(value: unknown): value is HookHello & { readonly nonce: string } {
  if (typeof value !== "object" || value === null) return false;
  const hello: Partial<Record<"nonce" | "quarantine" | "updates", unknown>> = value;
  const isPlace = hello.quarantine === null || typeof hello.quarantine === "string";
  return typeof hello.nonce === "string" && isPlace && typeof hello.updates === "string";
}

function lineTo(socket: Socket): HookLine {
  const gone = new AbortController();
  let leftOutCount = 0;
  let isOver = false;
  socket.on("close", () => gone.abort(new Error("the push broke off")));
  const send = (text: string): void => {
    if (!isOver && socket.writable) socket.write(`${text}\n`);
  };
  return {
    signal: gone.signal,
    print(text) {
      // Whoever pushes reads more slowly than the steps of a delivery speak.
      if (socket.writableLength > GIT_PRINT_BYTES_PENDING_MAX) {
        leftOutCount += 1;
        return;
      }
      if (leftOutCount > 0) send(`${PRINT}… ${leftOutCount} lines are left out here.`);
      leftOutCount = 0;
      send(`${PRINT}${text}`);
    },
    exit(code) {
      send(`${EXIT}${code}`);
      isOver = true;
      socket.end();
    },
  };
}
