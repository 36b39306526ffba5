// orchestrator promote: production takes the very release that is live on staging.
import type { Command } from "commander";
import { PlatformError } from "../../runtime-image/contract/errors.ts";
import { connectApi } from "../api/client.ts";
import { DEFAULT_API_PORT, portOf } from "../config.ts";
import { printLine } from "../log.ts";

interface PromoteFlags {
  readonly home?: string;
  readonly apiPort: string;
  readonly json?: boolean;
}

export function addPromote(program: Command): void {
  program
    .command("promote")
    .description("Makes production run the very builds that are live on staging.")
    .option("--home <dir>", "the home of the platform (default: that of the one that runs)")
    .option("--api-port <port>", "where the running orchestrator listens", String(DEFAULT_API_PORT))
    .option("--json", "the outcome as JSON")
    .action(async (flags: PromoteFlags) => promote(flags));
}

async function promote(flags: PromoteFlags): Promise<void> {
  const problems: string[] = [];
  const port = portOf("--api-port", flags.apiPort, problems);
  if (problems.length > 0) throw new PlatformError("SETTING_INVALID", { problems, remedy: "See: orchestrator promote --help" });
  const api = await connectApi({ port, home: flags.home ?? null });
  const outcome = await api.post("/api/promote");
  if (flags.json === true) return printLine(JSON.stringify(outcome));
  const releaseId = typeof outcome === "object" && outcome !== null && "releaseId" in outcome ? String(outcome.releaseId) : "";
  printLine(`production runs release ${releaseId}`);
}
