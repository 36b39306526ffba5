// Columns of text for people, and what commands need to read answers of the management API. Pure.

export function tableLines(head: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const widths = head.map((title, column) => Math.max(title.length, ...rows.map((row) => row[column]?.length ?? 0)));
  return [head, ...rows].map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join("  ")
      .trimEnd(),
  );
}

/** An object's fields; none of anything else. */
export const fieldsOf = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null ? { ...value } : {};

export const timeText = (epochMs: unknown, otherwise: string): string =>
  typeof epochMs === "number" ? new Date(epochMs).toISOString().replace(/\.\d+Z$/, "Z") : otherwise;
