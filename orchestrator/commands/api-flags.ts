// The flags of every command that talks to a running orchestrator.
import type { Command } from "commander";
import { PlatformError } from "../../runtime-image/contract/errors.ts";
import { type ApiClient, connectApi } from "../api/client.ts";
import { DEFAULT_API_PORT, portOf } from "../config.ts";

export interface ApiFlags {
  readonly home?: string;
  readonly apiPort: string;
  readonly json?: boolean;
}

export const withApiFlags = (command: Command): Command =>
  command
    .option("--home <dir>", "the home of the platform (default: that of the one that runs)")
    .option("--api-port <port>", "where the running orchestrator listens", String(DEFAULT_API_PORT))
    .option("--json", "the outcome as JSON");

/** Problems of other flags are told together with those of these. */
export async function apiOf(flags: ApiFlags, help: string, problems: string[] = []): Promise<ApiClient> {
  const port = portOf("--api-port", flags.apiPort, problems);
  if (problems.length > 0) throw new PlatformError("SETTING_INVALID", { problems, remedy: `See: ${help}` });
  return connectApi({ port, home: flags.home ?? null });
}
