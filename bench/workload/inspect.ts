// Takes a CPU profile of the Node process whose inspector listens on this network namespace's loopback.
import { writeFile } from "node:fs/promises";
import { setTimeout as delay } from "node:timers/promises";

const [seconds = "5", file = ""] = process.argv.slice(2);
const INSPECTOR = "http://127.0.0.1:9229/json/list";
const SAMPLING_INTERVAL_US = 200;
const CONNECT_ATTEMPT_COUNT_MAX = 100;

const socket = new WebSocket(await inspectorUrl());
await new Promise((resolve, reject) => {
  socket.addEventListener("open", resolve, { once: true });
  socket.addEventListener("error", () => reject(new Error("the inspector refused the connection")), { once: true });
});
await command("Profiler.enable");
await command("Profiler.setSamplingInterval", { interval: SAMPLING_INTERVAL_US });
await command("Profiler.start");
process.stdout.write("profiling\n");
await delay(Number(seconds) * 1_000);
const { profile } = await command("Profiler.stop");
await writeFile(file, JSON.stringify(profile));
process.exit(0);

/** The process was asked by signal to open it, which takes a moment. */
async function inspectorUrl(): Promise<string> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      const answer: unknown = await (await fetch(INSPECTOR)).json();
      // What every Node inspector answers.
      const [target] = answer as { webSocketDebuggerUrl: string }[];
      if (target !== undefined) return target.webSocketDebuggerUrl;
    } catch (cause) {
      if (attempt >= CONNECT_ATTEMPT_COUNT_MAX) throw cause;
    }
    await delay(30);
  }
}

function command(method: string, params: object = {}): Promise<{ profile?: unknown }> {
  return new Promise((resolve, reject) => {
    const id = Math.floor(Math.random() * 1e9);
    const onMessage = (event: MessageEvent): void => {
      // The inspector speaks JSON; other messages are events.
      const message = JSON.parse(String(event.data)) as { id?: number; result?: { profile?: unknown }; error?: { message: string } };
      if (message.id !== id) return;
      socket.removeEventListener("message", onMessage);
      if (message.error !== undefined) reject(new Error(message.error.message));
      else resolve(message.result ?? {});
    };
    socket.addEventListener("message", onMessage);
    socket.send(JSON.stringify({ id, method, params }));
  });
}
