// Puts the management API together: its token, its tokens, its audit log, its door; what answers is loaded when it is first needed.
import { join } from "node:path";
import type { Clock } from "../clock.ts";
import type { ControlBus } from "../nats/control-bus.ts";
import { ensureToken } from "./access.ts";
import type { GitDoor } from "../git/git-door.ts";
import { type AuditLog, openAuditLog } from "./audit.ts";
import { withGit } from "./git-mount.ts";
import type { ApiParts } from "./routes.ts";
import { startApi } from "./server.ts";
import { type TokenState, openTokenBook } from "./tokens.ts";

export interface Management {
  readonly newToken: string | null; // Where this start made the token of the home.
  /** Loads what answers, so that the first request need not wait for it. */
  warm(): Promise<void>;
  close(): Promise<void>;
}

export interface ManagementParts {
  readonly home: string;
  readonly clock: Clock;
  readonly control: Pick<ControlBus, "readControl" | "writeControl">;
  readonly routes: Omit<ApiParts, "tokens" | "audit">;
  readonly openGit: (audit: Pick<AuditLog, "begin">) => Promise<GitDoor>;
  readonly onTrouble: (error: unknown) => void;
}

export async function startManagement({ home, clock, control, routes, openGit, onTrouble }: ManagementParts): Promise<Management> {
  const { token, isNew } = await ensureToken(home);
  const [tokens, audit] = await Promise.all([
    openTokenBook({ homeToken: token, state: tokenState(control), clock }),
    openAuditLog(join(home, "audit"), clock),
  ]);
  const load = async () => {
    const [{ createApp }, { apiRoutes }] = await Promise.all([import("./app.ts"), import("./routes.ts")]);
    const app = await createApp(apiRoutes({ ...routes, tokens, audit }), { audit, onTrouble });
    return withGit(app, await openGit(audit), (name) => routes.app(name).appId);
  };
  try {
    const api = await startApi({ port: routes.port, home, callerOf: (given) => tokens.callerOf(given), load, onTrouble });
    return {
      newToken: isNew ? token : null,
      warm: async () => api.warm(),
      close: async () => {
        await api.close();
        await audit.close();
      },
    };
  } catch (cause) {
    await audit.close();
    throw cause;
  }
}

const TOKENS_KEY = "api-tokens";

const tokenState = (control: ManagementParts["control"]): TokenState => ({
  read: async () => control.readControl(TOKENS_KEY),
  write: async (value, expectedRevision) => control.writeControl(TOKENS_KEY, value, { expectedRevision }),
});
