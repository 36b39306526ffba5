// orchestrator promote: production takes the very release that is live on staging.
import type { Command } from "commander";
import { printLine } from "../log.ts";
import { type ApiFlags, apiOf, withApiFlags } from "./api-flags.ts";
import { fieldsOf } from "./table.ts";

export function addPromote(program: Command): void {
  withApiFlags(program.command("promote").description("Makes production run the very builds that are live on staging.")).action(
    async (flags: ApiFlags) => promote(flags),
  );
}

async function promote(flags: ApiFlags): Promise<void> {
  const api = await apiOf(flags, "orchestrator promote --help");
  const outcome = await api.post("/api/promote");
  printLine(flags.json === true ? JSON.stringify(outcome) : `production runs release ${String(fieldsOf(outcome)["releaseId"])}`);
}
