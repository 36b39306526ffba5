// A light load on an app that says which version of it answers: when each version was served first, and whether anything failed meanwhile.
import type { Client } from "./client.ts";
import { BenchError } from "./processes.ts";

export const LOAD_INTERVAL_MS = 4; // Between two requests; also how exactly the first new answer is seen.

/** What an answer begins with. */
export const versionText = (version: number): string => `version ${version}`;

export interface LightLoad {
  /** When the first answer of a version had come. */
  servedMs(version: number): number | null;
  counts(): { requestCount: number; failures: readonly string[]; staleCount: number };
  stop(): Promise<void>;
}

export function startLoad(client: Client): LightLoad {
  const served = new Map<number, number>();
  const open = new Set<Promise<void>>();
  const failures: string[] = [];
  let requestCount = 0;
  let staleCount = 0;
  const one = async (): Promise<void> => {
    const sentMs = performance.now();
    requestCount += 1;
    const answer = await client.get("/");
    if (answer.status !== 200) throw new BenchError(`${answer.status} ${answer.body.slice(0, 200)}`);
    const version = Number(/^version (\d+)/.exec(answer.body)?.[1] ?? 0);
    if (!served.has(version)) served.set(version, performance.now());
    const nextMs = served.get(version + 1);
    if (nextMs !== undefined && nextMs < sentMs) staleCount += 1;
  };
  const timer = setInterval(() => {
    const answered = one()
      .catch((cause: unknown) => void failures.push(cause instanceof Error ? cause.message : String(cause)))
      .finally(() => open.delete(answered));
    open.add(answered);
  }, LOAD_INTERVAL_MS);
  return {
    servedMs: (version) => served.get(version) ?? null,
    counts: () => ({ requestCount, failures, staleCount }),
    async stop() {
      clearInterval(timer);
      await Promise.all(open);
    },
  };
}
