// One thing that doctor looked at, what it found, and how a list of them reads.

export interface Check {
  readonly name: string;
  readonly state: CheckState;
  readonly detail: string;
  readonly remedy?: string;
}

export type CheckState = "ok" | "warn" | "bad";

const MARKS: Record<CheckState, string> = { ok: "ok  ", warn: "warn", bad: "BAD " };

/** One line per check, aligned, each remedy below what it is for, and one line that sums up. */
export function formatChecks(checks: readonly Check[]): string[] {
  const width = Math.max(0, ...checks.map((check) => check.name.length));
  const lines = checks.flatMap((check) => {
    const line = `${MARKS[check.state]}  ${check.name.padEnd(width)}  ${check.detail}`;
    return check.remedy === undefined ? [line] : [line, `${" ".repeat(width + 8)}→ ${check.remedy}`];
  });
  return [...lines, "", summaryOf(checks)];
}

/** What a script gets: 1 where something is bad. */
export const exitCodeOf = (checks: readonly Check[]): 0 | 1 => (checks.some((check) => check.state === "bad") ? 1 : 0);

function summaryOf(checks: readonly Check[]): string {
  const bad = checks.filter((check) => check.state === "bad").length;
  const warnings = checks.filter((check) => check.state === "warn").length;
  if (bad + warnings === 0) return "Everything is as it should be.";
  const parts = [bad > 0 ? `${bad} must be repaired` : "", warnings > 0 ? `${warnings} worth knowing` : ""];
  return `${parts.filter((part) => part !== "").join(", ")}.`;
}
