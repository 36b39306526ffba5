// Bytes on a bare connection, for requests that no HTTP client would send, and the answers to them.
import { type Socket, connect } from "node:net";
import { once } from "node:events";
import { setTimeout as delay } from "node:timers/promises";

export interface RawAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>; // By lower-case name; the last one of a repeated name.
  readonly body: string; // Latin-1: one character per byte.
}

const ANSWER_TIMEOUT_MS = 10_000;

/** Sends the bytes and reads until the other side closes; every answer that came, in order. */
export async function exchange(
  port: number,
  bytes: string | Buffer | readonly Buffer[],
  pause: { readonly pauseMs: number } = { pauseMs: 0 },
): Promise<RawAnswer[]> {
  const socket = connect({ host: "127.0.0.1", port, noDelay: true });
  const parts: Buffer[] = [];
  socket.on("data", (part: Buffer) => parts.push(part));
  socket.on("error", () => undefined); // A reset after the answer; what came before it counts.
  await once(socket, "connect");
  const closed = once(socket, "close", { signal: AbortSignal.timeout(ANSWER_TIMEOUT_MS) });
  closed.catch(() => undefined); // Awaited below, after the bytes went out.
  await sendAll(socket, typeof bytes === "string" || Buffer.isBuffer(bytes) ? [bytes] : bytes, pause.pauseMs);
  try {
    await closed;
  } catch (cause) {
    throw new Error(
      `the connection was not closed within ${ANSWER_TIMEOUT_MS} ms; so far: ${Buffer.concat(parts).toString("latin1").slice(0, 500)}`,
      { cause },
    );
  } finally {
    socket.destroy();
  }
  return readAnswers(Buffer.concat(parts).toString("latin1"));
}

async function sendAll(socket: Socket, parts: readonly (string | Buffer)[], pauseMs: number): Promise<void> {
  for (const part of parts) {
    if (!socket.writable) return;
    socket.write(part, "latin1");
    if (pauseMs > 0) await delay(pauseMs); // The pace is what is being sent.
  }
}

/** Every answer that a connection carried, in order. */
export function readAnswers(text: string): RawAnswer[] {
  const answers: RawAnswer[] = [];
  let rest = text;
  while (rest !== "") {
    const headEnd = rest.indexOf("\r\n\r\n");
    if (headEnd === -1) throw new Error(`no answer: ${rest.slice(0, 500)}`);
    const [statusLine = "", ...lines] = rest.slice(0, headEnd).split("\r\n");
    const headers = Object.fromEntries(
      lines.map((line) => [line.slice(0, line.indexOf(":")).toLowerCase(), line.slice(line.indexOf(":") + 1).trim()]),
    );
    const bodyEnd = headEnd + 4 + Number(headers["content-length"] ?? 0);
    answers.push({ status: Number(statusLine.split(" ")[1]), headers, body: rest.slice(headEnd + 4, bodyEnd) });
    rest = rest.slice(bodyEnd);
  }
  return answers;
}
