// A request whose function reads the visitor's session, beside the same request without, through the whole platform.
import { request } from "node:http";
import { fileURLToPath } from "node:url";
import { type Load, type LoadReport, runLoad } from "../load.ts";
import { say } from "../log.ts";
import { BenchError } from "../processes.ts";
import { type EngineKind, startPlatform } from "../rows/platform.ts";
import { median } from "../stats.ts";

export interface SessionResult {
  readonly engine: EngineKind;
  readonly plain: SessionFigures;
  readonly session: SessionFigures;
}

interface SessionFigures {
  readonly singleP50Ms: number; // At one connection.
  readonly requestsPerS: number; // At 32.
  readonly p99Ms: number;
  readonly failedCount: number;
}

const APP = fileURLToPath(new URL("../workload/sessions", import.meta.url));

export async function measureSessions(
  engine: EngineKind,
  options: { roundCount: number; stack: AsyncDisposableStack; signal: AbortSignal },
): Promise<SessionResult> {
  const { roundCount, stack, signal } = options;
  say(`sessions: starting the platform with ${engine}`);
  const { url } = await startPlatform({ engine, app: APP, isWatching: false, stack, signal });
  const cookie = await signIn(url);
  const loadOf = (path: string, connectionCount: number): Load => ({
    method: "GET",
    path,
    bodyBytes: 0,
    connectionCount,
    durationS: 2,
    headers: { cookie },
  });
  const rounds: Record<"/plain" | "/session", { single: LoadReport; many: LoadReport }[]> = { "/plain": [], "/session": [] };
  const paths = ["/plain", "/session"] as const;
  for (const path of paths) await runLoad(url, loadOf(path, 32), signal); // The compilers of V8 have their say first.
  for (let round = 1; round <= roundCount; round += 1) {
    say(`sessions, ${engine}: round ${round} of ${roundCount}`);
    for (const path of paths)
      rounds[path].push({ single: await runLoad(url, loadOf(path, 1), signal), many: await runLoad(url, loadOf(path, 32), signal) });
  }
  const figuresOf = (path: (typeof paths)[number]): SessionFigures => ({
    singleP50Ms: median(rounds[path].map(({ single }) => single.p50Ms)),
    requestsPerS: median(rounds[path].map(({ many }) => many.requestsPerS)),
    p99Ms: median(rounds[path].map(({ many }) => many.p99Ms)),
    failedCount: rounds[path].reduce((sum, { single, many }) => sum + single.failedCount + many.failedCount, 0),
  });
  return { engine, plain: figuresOf("/plain"), session: figuresOf("/session") };
}

/** The cookie of a visitor with a session, which both functions are sent; that it is read is checked. */
async function signIn(url: string): Promise<string> {
  const written = await exchange(new URL("/session", url), { method: "POST" });
  const cookie = written.cookie.split(";")[0] ?? "";
  const read = await exchange(new URL("/session", url), { headers: { cookie } });
  const plain = await exchange(new URL("/plain", url), { headers: { cookie } });
  if (read.body !== plain.body || !read.body.includes("ada@example.com")) throw new BenchError(`the session is read as ${read.body}`);
  return cookie;
}

async function exchange(
  url: URL,
  options: { method?: string; headers?: Record<string, string> },
): Promise<{ cookie: string; body: string }> {
  return new Promise((resolve, reject) => {
    const sent = request(url, options, (response) => {
      let body = "";
      response.setEncoding("utf8").on("data", (part: string) => (body += part));
      response.on("end", () => resolve({ cookie: response.headers["set-cookie"]?.[0] ?? "", body }));
    });
    sent.on("error", reject);
    sent.end();
  });
}
