// Constant load on a port, whatever happens behind it: open-loop, over kept connections, new ones and pipelining ones. Everything that fails counts.
import { Agent, request } from "node:http";
import { connect, type Socket } from "node:net";
import { until } from "./until.ts";

export interface SteadyLoad {
  /** Every transport error, cut answer, and status other than 200. */
  readonly failures: readonly string[];
  readonly counts: LoadCounts;
  /** Waits for what is on its way. */
  stop(): Promise<void>;
}

export interface LoadCounts {
  answered: number;
  closes: number; // Kept connections that were told to close with an answer.
  resent: number; // Requests that were pipelined behind an announced end, and asked again on another connection.
}

export interface LoadOptions {
  readonly port: number;
  readonly path: string; // GET and POST.
}

const TICK_MS = 20; // Of each client below: one request, or one burst.
const BURST = 3;
const ANSWER_TIMEOUT_MS = 15_000;

/** Some 350 requests per second over some ten connections. */
export function startLoad({ port, path }: LoadOptions): SteadyLoad {
  const failures: string[] = [];
  const counts: LoadCounts = { answered: 0, closes: 0, resent: 0 };
  const told: Told = { failures, counts };
  const kept = new Agent({ keepAlive: true, maxSockets: 4 });
  const uploads = new Agent({ keepAlive: true, maxSockets: 2 });
  const strict = [0, 1].map(() => new PipeliningClient({ port, path, mayResend: false }, told));
  const streaming = new PipeliningClient({ port, path, mayResend: true }, told);
  let pending = 0;
  const send = (agent: Agent | false, method: "GET" | "POST"): void => {
    pending += 1;
    ask({ port, path, agent, method })
      .then((isClosing) => {
        counts.answered += 1;
        if (isClosing && agent !== false) counts.closes += 1;
      })
      .catch((cause: unknown) => failures.push(`${method} ${agent === false ? "new" : "kept"} connection: ${String(cause)}`))
      .finally(() => (pending -= 1));
  };
  const timer = setInterval(() => {
    send(kept, "GET");
    send(uploads, "POST");
    send(false, "GET");
    for (const client of strict) if (client.isIdle) client.send(BURST);
    streaming.send(1);
  }, TICK_MS);
  return {
    failures,
    counts,
    async stop() {
      clearInterval(timer);
      await until(() => pending === 0 && [...strict, streaming].every((client) => client.isIdle), {
        timeoutMs: ANSWER_TIMEOUT_MS + 5_000,
        what: "every request of the load has an answer or a failure",
      });
      for (const agent of [kept, uploads]) agent.destroy();
      for (const client of [...strict, streaming]) client.close();
    },
  };
}

interface Asked {
  readonly port: number;
  readonly path: string;
  readonly agent: Agent | false;
  readonly method: "GET" | "POST";
}

/** Whether the answer said that its connection closes. */
function ask({ port, path, agent, method }: Asked): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const body = method === "POST" ? Buffer.alloc(2_000, "x") : Buffer.alloc(0);
    const headers = method === "POST" ? { "content-length": body.length } : {};
    const outgoing = request({ host: "127.0.0.1", port, path, method, agent, headers, timeout: ANSWER_TIMEOUT_MS });
    outgoing.once("response", (incoming) => {
      let bytes = 0;
      incoming.on("data", (part: Buffer) => (bytes += part.length));
      incoming.once("error", reject);
      incoming.once("end", () => {
        const isWhole = incoming.complete && bytes === Number(incoming.headers["content-length"]);
        if (incoming.statusCode !== 200 || !isWhole) reject(new Error(`status ${incoming.statusCode}, ${bytes} bytes`));
        else resolve(incoming.headers.connection === "close");
      });
    });
    outgoing.once("error", reject).once("timeout", () => outgoing.destroy(new Error("no answer in time")));
    outgoing.end(body);
  });
}

interface Pipelining extends LoadOptions {
  readonly mayResend: boolean; // RFC 9112 9.3.2: what was sent behind an announced end is asked again.
}

interface Told {
  readonly failures: string[];
  readonly counts: LoadCounts;
}

/** One connection at a time, with several requests on it before the first is answered. */
class PipeliningClient {
  readonly #options: Pipelining;
  readonly #told: Told;
  #socket: Socket | null = null;
  #received = "";
  #waiting = 0;

  constructor(options: Pipelining, told: Told) {
    this.#options = options;
    this.#told = told;
  }

  get isIdle(): boolean {
    return this.#waiting === 0;
  }

  send(count: number): void {
    this.#waiting += count;
    this.#write(count);
  }

  close(): void {
    this.#socket?.destroy();
  }

  #write(count: number): void {
    this.#socket ??= this.#open();
    this.#socket.write(`GET ${this.#options.path} HTTP/1.1\r\nhost: localhost\r\n\r\n`.repeat(count));
  }

  #open(): Socket {
    const socket = connect({ host: "127.0.0.1", port: this.#options.port, noDelay: true });
    let failure = "it was closed without a word";
    this.#received = "";
    socket.setTimeout(ANSWER_TIMEOUT_MS, () => {
      if (this.#waiting > 0) socket.destroy(new Error("no answer in time"));
    });
    socket.on("error", (cause) => (failure = String(cause)));
    socket.on("data", (part: Buffer) => {
      this.#received += part.toString("latin1");
      while (this.#socket === socket && this.#takeAnswer());
    });
    socket.on("close", () => {
      if (this.#socket !== socket) return; // An end that was announced.
      this.#socket = null;
      if (this.#waiting > 0) this.#told.failures.push(`pipelined: ${failure}, ${this.#waiting} unanswered`);
      this.#waiting = 0;
    });
    return socket;
  }

  /** False where no whole answer is there. */
  #takeAnswer(): boolean {
    const headEnd = this.#received.indexOf("\r\n\r\n");
    if (headEnd === -1) return false;
    const head = this.#received.slice(0, headEnd).toLowerCase();
    const end = headEnd + 4 + Number(/^content-length: (\d+)$/m.exec(head.replaceAll("\r", ""))?.[1] ?? 0);
    if (this.#received.length < end) return false;
    this.#received = this.#received.slice(end);
    this.#waiting -= 1;
    this.#told.counts.answered += 1;
    if (!head.startsWith("http/1.1 200 ")) this.#told.failures.push(`pipelined: ${head.slice(0, 40)}`);
    if (head.includes("\r\nconnection: close")) this.#moveOn();
    return true;
  }

  #moveOn(): void {
    this.#told.counts.closes += 1;
    this.#socket?.end();
    this.#socket = null;
    if (this.#waiting === 0) return;
    if (this.#options.mayResend) this.#told.counts.resent += this.#waiting;
    else this.#told.failures.push(`pipelined: the connection ended with ${this.#waiting} of one burst unanswered`);
    if (this.#options.mayResend) this.#write(this.#waiting);
    else this.#waiting = 0;
  }
}
