// Compares version numbers of nats-server.

/** The numbers of "2.10.27" or "v2.11.0-RC.1" in turn, or null for a text that begins with no version. */
export function parseVersion(text: string): readonly [major: number, minor: number, patch: number] | null {
  const match = /^v?(\d{1,6})\.(\d{1,6})\.(\d{1,6})/.exec(text);
  return match === null ? null : [Number(match[1]), Number(match[2]), Number(match[3])];
}

/** A version that cannot be read is not new enough. */
export function isVersionAtLeast(version: string, versionMin: string): boolean {
  const have = parseVersion(version);
  const wanted = parseVersion(versionMin);
  if (have === null || wanted === null) return false;
  const [first, second, third] = [have[0] - wanted[0], have[1] - wanted[1], have[2] - wanted[2]];
  return (first || second || third) >= 0;
}
