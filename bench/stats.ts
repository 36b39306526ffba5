// Medians and percentiles of a few numbers.

export const median = (values: readonly number[]): number => percentile(values, 50);

/** The value that so many percent do not exceed; between two values it is interpolated. */
export function percentile(values: readonly number[], percent: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  const position = ((sorted.length - 1) * percent) / 100;
  const below = sorted[Math.floor(position)];
  const above = sorted[Math.ceil(position)];
  if (below === undefined || above === undefined) return Number.NaN; // No values.
  return below + (above - below) * (position - Math.floor(position));
}
