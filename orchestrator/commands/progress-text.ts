// What a progress bar says. Pure.

export interface Progress {
  readonly label: string;
  readonly doneCount: number;
  readonly totalCount: number | null; // Null: not known.
  readonly note: string;
}

const BAR_LENGTH = 24;

export function progressText({ label, doneCount, totalCount, note }: Progress): string {
  if (totalCount === null || totalCount <= 0) return `${label} ${note}`;
  const share = Math.min(1, doneCount / totalCount); // Totals are estimates where others write meanwhile.
  const filled = Math.round(share * BAR_LENGTH);
  return `${label} [${"#".repeat(filled)}${".".repeat(BAR_LENGTH - filled)}] ${String(Math.floor(share * 100)).padStart(3)} % ${note}`;
}
