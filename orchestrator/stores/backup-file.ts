// The file of a backup: lines of JSON, one per value, between a first one that says what it is and a last one with counts and a checksum.
import { createHash } from "node:crypto";
import { PlatformError } from "../../runtime-image/contract/errors.ts";
import { ENVIRONMENTS } from "../../runtime-image/contract/instance-manifest.ts";
import { BACKUP_LINE_BYTES_MAX } from "../../runtime-image/contract/limits.ts";
import { STORE_BUCKETS, type StoreBucket } from "../../runtime-image/contract/subjects.ts";
import { linesOf } from "./lines.ts";
import { type BackupOrigin, type BackupVariables, readVariables } from "./sealed-variables.ts";

export const BACKUP_VERSION = 1;

export interface BackupHeader extends BackupOrigin {
  readonly orchestratorBackup: typeof BACKUP_VERSION;
  readonly variables?: BackupVariables; // Files of the first days say nothing of any, as those do where none were set.
}

export interface BackupEntry {
  readonly bucket: StoreBucket;
  readonly key: string; // As in the store.
  readonly bytes: Uint8Array;
}

export type BackupCounts = Readonly<Record<StoreBucket, number>>; // Entries; one key may have several, of which the last counts.

export interface BackupTrailer {
  readonly end: true;
  readonly counts: BackupCounts;
  readonly sha256: string; // Of every byte before this line, hex.
}

export interface BackupFacts {
  readonly header: BackupHeader;
  readonly trailer: BackupTrailer;
}

const ENTRY_COUNT_PER_CHUNK = 128; // Small entries travel together; a chunk for each would cost more than the entry.
const CHUNK_BYTES = 262_144;

export async function* writeBackup(header: BackupHeader, entries: AsyncIterable<BackupEntry>): AsyncGenerator<Buffer, void, undefined> {
  const hash = createHash("sha256");
  const counts: Record<StoreBucket, number> = { sessions: 0, data: 0 };
  let lines: string[] = [lineOf(header)];
  let byteCount = 0;
  const take = (): Buffer => {
    const chunk = Buffer.from(lines.join(""), "utf8");
    hash.update(chunk);
    lines = [];
    byteCount = 0;
    return chunk;
  };
  for await (const entry of entries) {
    lines.push(lineOf(entryValue(entry)));
    counts[entry.bucket] += 1;
    byteCount += entry.bytes.length;
    if (lines.length >= ENTRY_COUNT_PER_CHUNK || byteCount >= CHUNK_BYTES) yield take();
  }
  if (lines.length > 0) yield take();
  const trailer: BackupTrailer = { end: true, counts, sha256: hash.digest("hex") };
  yield Buffer.from(lineOf(trailer), "utf8");
}

/** Gives the entries and resolves with the facts. Only when it has come to its end is it known that nothing was damaged or is missing. */
export async function* readBackup(chunks: AsyncIterable<unknown>): AsyncGenerator<BackupEntry, BackupFacts, undefined> {
  const hash = createHash("sha256");
  const counts: Record<StoreBucket, number> = { sessions: 0, data: 0 };
  let header: BackupHeader | null = null;
  let trailer: BackupTrailer | null = null;
  for await (const { number, bytes, isTooLong } of linesOf(chunks, BACKUP_LINE_BYTES_MAX)) {
    if (isTooLong) throw invalid(`line ${number} is longer than any entry`);
    const value = recordIn(bytes, number);
    if (header === null) header = headerIn(value);
    else if (trailer !== null) throw invalid(`line ${number} follows its end`);
    else if (value["end"] === true) trailer = trailerIn(value);
    else {
      const entry = entryIn(value, number);
      counts[entry.bucket] += 1;
      yield entry;
    }
    if (trailer === null) hash.update(bytes).update("\n");
  }
  if (header === null) throw invalid("it is empty");
  if (trailer === null) throw invalid("it ends before its last line: a part is missing");
  const isWhole = STORE_BUCKETS.every((bucket) => counts[bucket] === trailer.counts[bucket]);
  if (!isWhole || hash.digest("hex") !== trailer.sha256) throw invalid("its checksum does not fit: it was damaged or altered");
  return { header, trailer };
}

export const invalid = (detail: string): PlatformError =>
  new PlatformError("BACKUP_INVALID", {
    detail: `Of the file: ${detail}.`,
    remedy: "Take another copy of it, or another backup. Nothing was written.",
  });

const lineOf = (value: object): string => `${JSON.stringify(value)}\n`;

/** Text where it is text, which nearly all is, so that a backup can be read by people and other programs. */
function entryValue({ bucket, key, bytes }: BackupEntry): object {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const text = buffer.toString("utf8");
  const isText = Buffer.byteLength(text) === buffer.length && Buffer.from(text, "utf8").equals(buffer);
  return isText ? { bucket, key, text } : { bucket, key, base64: buffer.toString("base64") };
}

type Fields = Readonly<Record<string, unknown>>;

function recordIn(bytes: Buffer, number: number): Fields {
  try {
    const value: unknown = JSON.parse(bytes.toString("utf8"));
    if (typeof value === "object" && value !== null) return { ...value };
  } catch {
    // Told below.
  }
  throw invalid(number === 1 ? "it is no backup of an orchestrator" : `line ${number} is no JSON`);
}

function headerIn(value: Fields): BackupHeader {
  const { orchestratorBackup: version, appName, createdAt } = value;
  const environment = ENVIRONMENTS.find((name) => name === value["environment"]);
  if (typeof version !== "number") throw invalid("it is no backup of an orchestrator");
  if (version !== BACKUP_VERSION) throw invalid(`it has version ${version}, and this orchestrator reads version ${BACKUP_VERSION}`);
  if (typeof appName !== "string" || typeof createdAt !== "string" || environment === undefined)
    throw invalid("its first line does not say what it is a backup of");
  const read = readVariables(value["variables"]);
  if ("problem" in read) throw invalid(read.problem);
  return { orchestratorBackup: version, appName, environment, createdAt, ...read };
}

function trailerIn(value: Fields): BackupTrailer {
  const { sha256 } = value;
  const counts = (value["counts"] ?? {}) as Partial<Record<StoreBucket, unknown>>; // Checked on the next line.
  if (typeof sha256 !== "string" || typeof counts.data !== "number" || typeof counts.sessions !== "number")
    throw invalid("its last line has no counts and no checksum");
  return { end: true, counts: { sessions: counts.sessions, data: counts.data }, sha256 };
}

export const isStoreKey = (bucket: StoreBucket, key: string): boolean => KEYS[bucket].test(key);

const KEYS: Readonly<Record<StoreBucket, RegExp>> = { sessions: /^[\w-]+$/, data: /^(?:[0-9a-f]{2})+\.(?:[0-9a-f]{2})+$/ };

function entryIn({ bucket: name, key, text, base64 }: Fields, number: number): BackupEntry {
  const bucket = STORE_BUCKETS.find((one) => one === name);
  if (bucket === undefined || typeof key !== "string" || !isStoreKey(bucket, key))
    throw invalid(`line ${number} names no place in a store`);
  if (typeof text === "string") return { bucket, key, bytes: Buffer.from(text, "utf8") };
  if (typeof base64 === "string") return { bucket, key, bytes: Buffer.from(base64, "base64") };
  throw invalid(`line ${number} has no value`);
}
