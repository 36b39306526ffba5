// How many bytes, as people say it.

export function bytesText(byteCount: number): string {
  if (byteCount < 1_000) return `${byteCount} B`;
  if (byteCount < 1_000_000) return `${(byteCount / 1_000).toFixed(1)} KB`;
  if (byteCount < 1_000_000_000) return `${(byteCount / 1_000_000).toFixed(1)} MB`;
  return `${(byteCount / 1_000_000_000).toFixed(1)} GB`;
}
