// What `orchestrator env` says to people. Pure.
import type { ChangeOutcome, ListedVariable } from "../variables/variables.ts";

export function changeLines({ environments }: ChangeOutcome, word: "set" | "removed"): string[] {
  return environments.flatMap(({ environment, changed, failures }) => [
    `${environment}: ${changed.length === 0 ? "nothing to change, it is so already" : `${word} ${changed.join(", ")}`}`,
    ...failures.map(({ functionName, code, message }) => `${environment}: ${functionName} still does not start: ${code}: ${message}`),
  ]);
}

export function listLines(variables: readonly ListedVariable[]): string[] {
  if (variables.length === 0) return ["no variables; set one with: orchestrator env set KEY=value"];
  const rows = variables.map(({ name, environment, source, hidesFolder, changedEpochMs, changedBy }) => [
    name,
    environment,
    source === "folder" ? "the folder's .env" : hidesFolder ? "set, in place of the folder's" : "set",
    changedEpochMs === null ? "" : new Date(changedEpochMs).toISOString().slice(0, 19).replace("T", " "),
    changedBy ?? "",
  ]);
  const table = [["NAME", "ENVIRONMENT", "FROM", "CHANGED (UTC)", "BY"], ...rows];
  const widths = table[0]?.map((_, column) => Math.max(...table.map((row) => row[column]?.length ?? 0))) ?? [];
  return table.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join("  ")
      .trimEnd(),
  );
}
