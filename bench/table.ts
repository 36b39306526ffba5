// Lays out a table as Markdown that can also be read as text.

export interface Column<Row> {
  readonly title: string;
  readonly cell: (row: Row) => string;
  readonly align?: "left" | "right"; // Numbers stand right, which is the default.
}

export function markdownTable<Row>(columns: readonly Column<Row>[], rows: readonly Row[]): string {
  const cells = rows.map((row) => columns.map((column) => escape(column.cell(row))));
  const widths = columns.map((column, index) => Math.max(3, column.title.length, ...cells.map((line) => line[index]?.length ?? 0)));
  const isLeft = (index: number): boolean => columns[index]?.align === "left";
  const pad = (text: string, index: number): string =>
    isLeft(index) ? text.padEnd(widths[index] ?? 0) : text.padStart(widths[index] ?? 0);
  const line = (parts: readonly string[]): string => `| ${parts.join(" | ")} |`;
  const rule = widths.map((width, index) => (isLeft(index) ? "-".repeat(width) : `${"-".repeat(width - 1)}:`));
  return [line(columns.map((column, index) => pad(column.title, index))), line(rule), ...cells.map((parts) => line(parts.map(pad)))].join(
    "\n",
  );
}

const escape = (text: string): string => text.replaceAll("|", "\\|").replaceAll("\n", " ");

/** Whole numbers with thousands apart; a number that is not there is a dash. */
export const whole = (value: number): string => (Number.isFinite(value) ? Math.round(value).toLocaleString("en-US") : "–");

/** Three digits that say something: 0.123, 1.23, 12.3, 123. */
export function short(value: number): string {
  if (!Number.isFinite(value)) return "–";
  const size = Math.abs(value);
  return value.toFixed(size >= 100 ? 0 : size >= 10 ? 1 : size >= 1 ? 2 : 3);
}

/** How many times another number, "–" where there is nothing to compare with. */
export const times = (value: number, other: number | undefined): string =>
  other === undefined || other === 0 ? "–" : `${short(value / other)}×`;
