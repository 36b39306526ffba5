// What is worth knowing about the room that a platform takes: parts out of proportion, and an engine whose disk is nearly full. Pure.
import { bytesText } from "../bytes-text.ts";
import type { Check } from "./check.ts";
import type { DiskPartName, DiskReport } from "./disk-use.ts";

const PART_BYTES_LARGE = 1_000_000_000; // Below that, no part is worth a word, however little room is left.
const ENGINE_BYTES_LOW = 2_000_000_000; // A base image and some builds.

export const PART_TEXTS: Readonly<Record<DiskPartName, string>> = {
  broker: "documents, sessions, what is deployed",
  builds: "functions that were built, and the runtime",
  sites: "static files of releases",
  installs: "packages that functions use",
  "npm-cache": "what npm keeps of its downloads",
  repositories: "the apps' own repositories",
  deliveries: "logs of deliveries",
  work: "what is being received, built or restored",
  logs: "what functions, gateways and the platform print, and the audit log",
  other: "keys, settings, and what is not the platform's",
};

const COLLECT = '"orchestrator collect --keep-days 1" forgets releases that are older, and removes what nothing needs any more.';
const REMEDIES: Readonly<Record<DiskPartName, string>> = {
  broker: '"orchestrator data ls" shows what apps keep; "orchestrator app rm" removes one with everything of it.',
  builds: COLLECT,
  sites: COLLECT,
  installs: "The installs that were used last are kept; those of a stopped platform can be removed, and are made again.",
  "npm-cache": "It is begun anew when it is too large; while the platform is stopped it can be removed.",
  repositories: '"orchestrator app rm" removes an app with its repository; large files in its history stay until then.',
  deliveries: 'The latest deliveries of each app keep their logs; "orchestrator app rm" removes an app with all of them.',
  work: "What an orchestrator that was killed left there goes with the next start.",
  logs: "They are bounded; what is larger is not the platform's.",
  other: "Look into the home for what somebody else put there.",
};

export function judgeUse({ parts, bytes, isWhole, freeBytes, engine }: DiskReport): Check[] {
  const large = parts.filter((part) => part.bytes >= PART_BYTES_LARGE && freeBytes !== null && part.bytes > freeBytes);
  return [
    { name: "disk use", state: "ok", detail: `${isWhole ? "" : "at least "}${bytesText(bytes)} in the home` },
    ...large.map((part): Check => ({
      name: "disk use",
      state: "warn",
      detail: `${part.part} takes ${bytesText(part.bytes)}, more than the ${bytesText(freeBytes ?? 0)} that are left: ${PART_TEXTS[part.part]}.`,
      remedy: REMEDIES[part.part],
    })),
    // Where the home's own disk is low that is told of already, and most often it is the same.
    ...(isLow(engine?.freeBytes) && !isLow(freeBytes) ? [engineCheck(engine?.freeBytes ?? 0)] : []),
  ];
}

const isLow = (freeBytes: number | null | undefined): boolean => typeof freeBytes === "number" && freeBytes < ENGINE_BYTES_LOW;

const engineCheck = (freeBytes: number): Check => ({
  name: "engine's disk",
  state: "warn",
  detail: `${bytesText(freeBytes)} free where the engine keeps images and containers.`,
  remedy: `${COLLECT} "docker system df" shows what else is there.`,
});
