// Says whether a runc, the program that starts containers, has holes that are known. Pure; distributions mend old versions, so suffixes count.

export interface RuncVerdict {
  readonly cves: string;
  readonly state: "fixed" | "open" | "unknown"; // "unknown": a distribution's build that is newer than what is known here.
  /** Whether code inside a running container is enough, without a say in how containers are made. */
  readonly isOpenToFunctions: boolean;
}

interface Hole {
  readonly cves: string;
  readonly isOpenToFunctions: boolean;
  readonly fixedUpstream: readonly string[]; // The first mended version of each release line, the oldest line first.
  readonly fixedInDebian: readonly string[]; // Packages that carry the mending on an older version.
  readonly knownDebian: readonly string[]; // Newest packages whose changelog was read; a later one may hold it.
}

const HOLES: readonly Hole[] = [
  {
    cves: "CVE-2024-21626",
    isOpenToFunctions: true,
    fixedUpstream: ["1.1.12"],
    fixedInDebian: ["1.1.5+ds1-1+deb12u1", "1.0.0~rc93+ds1-5+deb11u3"],
    knownDebian: [],
  },
  {
    cves: "CVE-2025-31133, CVE-2025-52565 and CVE-2025-52881",
    isOpenToFunctions: false,
    fixedUpstream: ["1.2.8", "1.3.3", "1.4.0-rc.3"],
    fixedInDebian: [],
    knownDebian: ["1.1.5+ds1-1+deb12u1", "1.1.15+ds1-2"],
  },
];

/** The version as Docker tells it; a distribution's full one ("1.1.5+ds1-1+deb12u1") where there is one. Null: it cannot be read. */
export function judgeRunc(version: string): readonly RuncVerdict[] | null {
  const have = parse(version);
  if (have === null) return null;
  return HOLES.map((hole) => ({ cves: hole.cves, isOpenToFunctions: hole.isOpenToFunctions, state: stateOf(hole, have) }));
}

function stateOf(hole: Hole, have: Parsed): RuncVerdict["state"] {
  if (isFixedUpstream(hole.fixedUpstream.map(parseOwn), have)) return "fixed";
  if (have.packaging === null) return "open";
  const siblings = (packages: readonly string[]) => packages.map(parseOwn).filter((one) => compareNumbers(one, have) === 0);
  if (siblings(hole.fixedInDebian).some((one) => debianUpdate(have) >= debianUpdate(one))) return "fixed";
  const known = [...siblings(hole.knownDebian), ...siblings(hole.fixedInDebian)];
  return known.some((one) => debianUpdate(have) <= debianUpdate(one)) ? "open" : "unknown";
}

/** Mended in its own line of releases from some patch on, and in every line that began after the last of them. */
function isFixedUpstream(fixes: readonly Parsed[], have: Parsed): boolean {
  const own = fixes.find((fix) => fix.numbers[0] === have.numbers[0] && fix.numbers[1] === have.numbers[1]);
  if (own !== undefined) return compareNumbers(have, own) > 0 || (compareNumbers(have, own) === 0 && have.candidate >= own.candidate);
  const last = fixes.at(-1);
  return last !== undefined && compareNumbers(have, last) > 0;
}

interface Parsed {
  readonly numbers: readonly [major: number, minor: number, patch: number];
  readonly candidate: number; // Of "-rc.3"; infinite for a release.
  readonly packaging: string | null; // What a distribution added.
}

function parse(version: string): Parsed | null {
  const match = /^v?(\d{1,5})\.(\d{1,5})\.(\d{1,5})(?:[-~]rc\.?(\d{1,5}))?(.*)$/.exec(version.trim());
  if (match === null) return null;
  const [, major, minor, patch, candidate, rest = ""] = match;
  const packaging = /^(?:[+~]ds|-\d+(?:ubuntu|\+deb|~bpo)|-\d+$)/.test(rest) ? rest : null;
  return {
    numbers: [Number(major), Number(minor), Number(patch)],
    candidate: candidate === undefined ? Number.POSITIVE_INFINITY : Number(candidate),
    packaging,
  };
}

function parseOwn(version: string): Parsed {
  const parsed = parse(version);
  if (parsed === null) throw new Error(`the table holds a version that cannot be read: ${version}`);
  return parsed;
}

function compareNumbers(left: Parsed, right: Parsed): number {
  const [a, b] = [left.numbers, right.numbers];
  return a[0] - b[0] || a[1] - b[1] || a[2] - b[2];
}

/** The 1 of "+deb12u1": which security update of its Debian a package is; 0 is the first. */
const debianUpdate = (parsed: Parsed): number => Number(/\+deb\d+u(\d+)/.exec(parsed.packaging ?? "")?.[1] ?? 0);
