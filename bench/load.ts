// Load through wrk: one thread, so many connections, a Lua script for the request and for a report that is not rounded.
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { BenchError, run } from "./processes.ts";

export interface Load {
  readonly path: string;
  readonly method: "GET" | "POST";
  readonly bodyBytes: number;
  readonly connectionCount: number;
  readonly durationS: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly hosts?: readonly string[]; // Asked in turn; otherwise the one of the address.
}

export interface LoadReport {
  readonly requestCount: number;
  readonly failedCount: number; // Answers of 400 and more, and socket errors and timeouts.
  readonly durationS: number;
  readonly requestsPerS: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

const REQUEST_TIMEOUT_S = 10;
const REPORT_MARK = "bench-report";
const MICROSECONDS_PER_S = 1_000_000;

export async function runLoad(baseUrl: string, load: Load, signal: AbortSignal): Promise<LoadReport> {
  signal.throwIfAborted();
  const folder = await mkdtemp(join(tmpdir(), "orchestrator-bench-wrk-"));
  try {
    const script = join(folder, "load.lua");
    await writeFile(script, luaScript(load));
    const args = [
      "-t1",
      `-c${load.connectionCount}`,
      `-d${load.durationS}s`,
      `--timeout=${REQUEST_TIMEOUT_S}s`,
      "-s",
      script,
      new URL(load.path, baseUrl).href,
    ];
    const output = await run("wrk", args, { timeoutMs: (load.durationS + REQUEST_TIMEOUT_S + 5) * 1_000, signal });
    return parseReport(output);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** wrk formats the request once where the script only sets these fields. */
export function luaScript(load: Pick<Load, "method" | "bodyBytes" | "headers" | "hosts">): string {
  const headers = Object.entries(load.headers ?? {}).map(
    ([name, value]) => `wrk.headers[${JSON.stringify(name)}] = ${JSON.stringify(value)}\n`,
  );
  const body =
    load.bodyBytes > 0 ? `wrk.body = string.rep("x", ${load.bodyBytes})\nwrk.headers["content-type"] = "application/octet-stream"\n` : "";
  return `wrk.method = "${load.method}"
${headers.join("")}${body}${load.hosts === undefined ? "" : hostsLua(load.hosts)}
function done(summary, latency, requests)
  local errors = summary.errors
  io.write(string.format("${REPORT_MARK} %d %d %d %d %d %d %d %f %f\\n", summary.requests, summary.duration,
    errors.status, errors.connect, errors.read, errors.write, errors.timeout, latency:percentile(50), latency:percentile(99)))
end
`;
}

/** Formatted once, too. */
const hostsLua = (hosts: readonly string[]): string => `
local requests = {}
local position = 0
function init(args)
  for index, host in ipairs({ ${hosts.map((host) => JSON.stringify(host)).join(", ")} }) do
    wrk.headers["Host"] = host
    requests[index] = wrk.format()
  end
end
function request()
  position = position % #requests + 1
  return requests[position]
end
`;

export function parseReport(output: string): LoadReport {
  const line = output.split("\n").find((one) => one.startsWith(REPORT_MARK));
  const values = line?.split(" ").slice(1).map(Number) ?? [];
  const [requestCount, durationUs, status, connect, read, write, timeout, p50Us, p99Us] = values;
  if (requestCount === undefined || durationUs === undefined || p50Us === undefined || p99Us === undefined || values.some(Number.isNaN))
    throw new BenchError(`wrk printed no report:\n${output}`);
  const failedCount = (status ?? 0) + (connect ?? 0) + (read ?? 0) + (write ?? 0) + (timeout ?? 0);
  const durationS = durationUs / MICROSECONDS_PER_S;
  return { requestCount, failedCount, durationS, requestsPerS: requestCount / durationS, p50Ms: p50Us / 1_000, p99Ms: p99Us / 1_000 };
}
