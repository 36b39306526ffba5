// A few lines that run in an instance before the runtime does: they start the one thread it needs, and give up the right to start more.

export const GUARD_FILE = "process-guard.mjs";

// Measured on Node 24.21: under --allow-worker any code can start a thread with `execArgv: ["--no-permission"]`, which may then
// read, write and spawn whatever it likes. So the thread of the runtime's watchdog is started here, before any code of a user is
// loaded, waits for its orders, and the right is dropped. The runtime is given that thread when it asks for one. User code that asks
// before it gets a thread with the watchdog in it, which it gains nothing by: the file is fixed here.
export const GUARD_SOURCE = `import { syncBuiltinESMExports } from "node:module";
import path from "node:path";
import threads from "node:worker_threads";

const WATCHDOG = path.join(import.meta.dirname, "watchdog.js");
const IN_THREAD = \`const threads = require("node:worker_threads");
threads.parentPort.once("message", (workerData) => {
  threads.workerData = workerData;
  require(\${JSON.stringify(WATCHDOG)});
});\`;
const HEAP_MB_MAX = 24;

const waiting = new threads.Worker(IN_THREAD, {
  eval: true,
  env: {},
  execArgv: [],
  resourceLimits: { maxOldGenerationSizeMb: HEAP_MB_MAX, maxYoungGenerationSizeMb: 2 },
});
waiting.unref();
process.permission.drop("worker");

let isTaken = false;
threads.Worker = function (file, options) {
  if (isTaken || file !== WATCHDOG) throw Object.assign(new Error("A function may not start threads."), { code: "ERR_ACCESS_DENIED" });
  isTaken = true;
  waiting.postMessage(options.workerData);
  return waiting;
};
syncBuiltinESMExports();
`;
