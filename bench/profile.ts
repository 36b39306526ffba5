// Where the time goes: CPU profiles of the staging gateway and of an instance, taken through the inspector under load.
import { mkdtemp, readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { instancesOf } from "./instances.ts";
import { runLoad } from "./load.ts";
import { say } from "./log.ts";
import { type CpuProfile, type ProfileSummary, summarise } from "./profile-summary.ts";
import { start } from "./processes.ts";
import { BENCH_APP, type EngineKind, startPlatform } from "./rows/platform.ts";
import { markdownTable, short } from "./table.ts";

export interface ProfileResult {
  readonly what: string;
  readonly file: string; // To be opened in the developer tools of a browser.
  readonly summary: ProfileSummary;
}

const INSPECT = fileURLToPath(new URL("workload/inspect.ts", import.meta.url));
const DURATION_S = 5;
const WARM_UP_S = 2;
const LINE_COUNT = 30;
const LOAD = { method: "GET", path: "/", bodyBytes: 0, connectionCount: 32 } as const;

export async function measureProfiles(engine: EngineKind, { stack, signal }: { stack: AsyncDisposableStack; signal: AbortSignal }): Promise<ProfileResult[]> {
  say(`profile: starting the platform with ${engine}`);
  const platform = await startPlatform({ engine, app: BENCH_APP, isWatching: false, stack, signal });
  const folder = await mkdtemp(join(tmpdir(), "orchestrator-profile-")); // Stays: it is the result.
  await runLoad(platform.url, { ...LOAD, durationS: WARM_UP_S }, signal);
  const targets = [{ what: "gateway", pid: await platform.gatewayPid(), isContainer: false }];
  const [instance] = engine === "docker" ? await instancesOf(platform, "src/http/get-index") : [];
  if (instance === undefined) say("instances of the engine process deny the inspector: only the gateway is profiled");
  else targets.push({ what: "instance", pid: instance.pid, isContainer: true });
  const results: ProfileResult[] = [];
  for (const target of targets) {
    say(`profile: ${target.what}`);
    const file = join(folder, `${target.what}.cpuprofile`);
    await profileProcess(target, { file, url: platform.url, signal });
    // Written by V8.
    const profile = JSON.parse(await readFile(file, "utf8")) as CpuProfile;
    results.push({ what: target.what, file, summary: summarise(profile) });
  }
  return results;
}

/** SIGUSR1 makes Node open its inspector on the loopback; a container's loopback is entered with nsenter, which root may. */
async function profileProcess(target: { pid: number; isContainer: boolean }, { file, url, signal }: { file: string; url: string; signal: AbortSignal }): Promise<void> {
  process.kill(target.pid, "SIGUSR1");
  const inspect = [process.execPath, "--disable-warning=ExperimentalWarning", INSPECT, String(DURATION_S), file];
  const [command = "", ...args] = target.isContainer ? ["nsenter", "-t", String(target.pid), "-n", ...inspect] : inspect;
  const inspector = await start({ command, args, isReady: (line) => line === "profiling", timeoutMs: 10_000, signal });
  const ended = new Promise((resolve) => inspector.child.once("exit", resolve));
  try {
    await runLoad(url, { ...LOAD, durationS: DURATION_S }, signal);
    await Promise.race([ended, new Promise((_, reject) => setTimeout(reject, 10_000, new Error("the profile does not come")).unref())]);
  } finally {
    await inspector.stop();
  }
}

/** Pure. */
export function profileSection(results: readonly ProfileResult[]): string {
  const percent = (share: number): string => `${short(share * 100)} %`;
  const parts = results.map(({ what, file, summary }) => {
    const columns = [
      { title: "self", cell: (row: (typeof rows)[number]) => percent(row.selfShare) },
      { title: "with callees", cell: (row: (typeof rows)[number]) => percent(row.totalShare) },
      { title: "function", cell: (row: (typeof rows)[number]) => row.name, align: "left" as const },
    ];
    const rows = summary.functions.slice(0, LINE_COUNT);
    const byTotal = summary.functions.toSorted((a, b) => b.totalShare - a.totalShare).slice(0, LINE_COUNT);
    return `### ${what}: busy ${percent(summary.busyShare)} of the time; ${file}\n\n${markdownTable(columns, rows)}\n\nBy time with callees:\n\n${markdownTable(columns, byTotal)}`;
  });
  return `## Profile\n\n${parts.join("\n\n")}`;
}
