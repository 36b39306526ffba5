// npm run bench [-- name] [--quick]: measures, prints, and writes the result into RESULTS.md.
import { parseArgs } from "node:util";
import { BENCHES, type BenchName, type BenchSettings } from "./benches.ts";
import { CELLS } from "./compare.ts";
import { print, say } from "./log.ts";
import { BenchError } from "./processes.ts";
import { saveSection } from "./results.ts";
import type { EngineKind } from "./rows/platform.ts";

const NAMES = Object.keys(BENCHES).filter((name): name is BenchName => name in BENCHES);
const USAGE = `Usage: npm run bench [-- <name>...] [--quick] [--engine docker|process] [--cell <cell>] [--no-write]

  compare   the table: bare node:http, nginx, http-proxy, ours (the default, some 6 minutes)
  cold      no instance → first answer
  reload    saving a file → the changed answer
  memory    the gateway's memory over a million requests
  routes    the cost of routing from 10 to 5,000 routes
  stores    documents and sessions, beside Redis and PostgreSQL (needs redis-server and postgresql)
  deploy    a folder of 20 functions → served, beside docker build; answers of the API meanwhile
  apps      the cost of apps that nobody asks for, from 10 to 500
  profile   where the time goes: CPU profiles of gateway and instance
  all       everything but profile

  --quick      shorter and fewer rounds; RESULTS.md stays as it is
  --engine     only this engine, where a bench runs on both
  --cell       what is profiled: ${CELLS.join(", ")}
  --no-write   RESULTS.md stays as it is`;

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      quick: { type: "boolean", default: false },
      engine: { type: "string" },
      cell: { type: "string", default: "get" },
      "no-write": { type: "boolean", default: false },
      help: { type: "boolean", short: "h", default: false },
    },
  });
  if (values.help) return print(USAGE);
  const names =
    positionals.length === 0 ? ["compare"] : positionals.includes("all") ? NAMES.filter((name) => name !== "profile") : positionals;
  const unknown = names.filter((name) => !NAMES.some((known) => known === name));
  if (unknown.length > 0) throw new BenchError(`no bench is called ${unknown.join(", ")}\n\n${USAGE}`);
  const { engine } = values;
  if (engine !== undefined && engine !== "docker" && engine !== "process")
    throw new BenchError(`--engine: should be docker or process, got "${engine}"`);
  const cell = CELLS.find((known) => known === values.cell);
  if (cell === undefined) throw new BenchError(`--cell: should be one of ${CELLS.join(", ")}, got "${values.cell}"`);
  const abort = new AbortController();
  for (const signalName of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signalName, () => abort.abort(new BenchError("interrupted")));
  const engines: readonly EngineKind[] = engine === undefined ? ["docker", "process"] : [engine];
  const settings: Omit<BenchSettings, "stack"> = { isQuick: values.quick, engines, cell, signal: abort.signal };
  for (const name of NAMES.filter((known) => names.includes(known))) {
    const body = await runBench(name, settings);
    print(`\n${body}\n`);
    if (!values.quick && !values["no-write"] && name !== "profile") await saveSection(name, body);
  }
}

/** Whatever happens, what the bench started is stopped and removed. */
async function runBench(name: BenchName, settings: Omit<BenchSettings, "stack">): Promise<string> {
  const stack = new AsyncDisposableStack();
  try {
    return await BENCHES[name]({ ...settings, stack });
  } finally {
    say("stopping what was started");
    await stack.disposeAsync();
  }
}

main().catch((cause: unknown) => {
  say(cause instanceof BenchError ? cause.message : cause instanceof Error ? (cause.stack ?? cause.message) : String(cause));
  process.exitCode = 1;
});
