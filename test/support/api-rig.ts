// The management API on a free port with routes of a test's own, and two tokens: one that may do everything, one that may look.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ensureToken, newToken } from "../../orchestrator/api/access.ts";
import { createApp } from "../../orchestrator/api/app.ts";
import { type AuditLog, openAuditLog } from "../../orchestrator/api/audit.ts";
import type { Caller } from "../../orchestrator/api/roles.ts";
import type { ApiRoute } from "../../orchestrator/api/route.ts";
import { startApi } from "../../orchestrator/api/server.ts";
import { systemClock } from "../../orchestrator/clock.ts";
import { freePort } from "./platform.ts";

export interface ApiRig {
  readonly home: string;
  readonly port: number;
  readonly token: string; // Of the home.
  readonly lookersToken: string; // Of "looker", who may read.
  readonly audit: AuditLog;
  readonly troubles: unknown[]; // What the API complained about.
  loadCount(): number;
  /** The API alone; stop() calls it as well. */
  close(): Promise<void>;
  stop(): Promise<void>;
}

export async function startApiRig(routes: readonly ApiRoute[]): Promise<ApiRig> {
  const home = await mkdtemp(join(tmpdir(), "orchestrator-api-"));
  const port = await freePort();
  const { token } = await ensureToken(home);
  const lookersToken = newToken();
  const audit = await openAuditLog(join(home, "audit"), systemClock);
  const callers = new Map<string, Caller>([
    [token, { tokenName: "home", role: "admin" }],
    [lookersToken, { tokenName: "looker", role: "read" }],
  ]);
  const troubles: unknown[] = [];
  const onTrouble = (error: unknown): void => void troubles.push(error);
  let loads = 0;
  const load = async () => {
    loads += 1;
    return createApp(routes, { audit, onTrouble });
  };
  const api = await startApi({ port, home, callerOf: (given) => callers.get(given) ?? null, load, onTrouble });
  let closing: Promise<void> | null = null;
  const close = async (): Promise<void> => (closing ??= api.close());
  return {
    home,
    port,
    token,
    lookersToken,
    audit,
    troubles,
    loadCount: () => loads,
    close,
    async stop() {
      await close();
      await audit.close();
      await rm(home, { recursive: true });
    },
  };
}
