// What a run of the crash proof prints: progress, and one line per kind of blow with its count and how long recovery took.

export interface Blow {
  readonly kind: string;
  readonly recoveryMs: number;
}

export const say = (text: string): void => void process.stdout.write(`${text}\n`);

export function summaryLines(blows: readonly Blow[]): string[] {
  const kinds = [...new Set(blows.map(({ kind }) => kind))];
  return kinds.map((kind) => {
    const times = blows.filter((blow) => blow.kind === kind).map(({ recoveryMs }) => recoveryMs);
    const seconds = (share: number): string => (quantile(times, share) / 1_000).toFixed(2).padStart(6);
    return `${kind.padEnd(28)} ${String(times.length).padStart(4)} times, answering again after p50 ${seconds(0.5)} s, p95 ${seconds(0.95)} s, at most ${seconds(1)} s`;
  });
}

function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
}
