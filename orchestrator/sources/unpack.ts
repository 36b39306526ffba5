// Unpacks an archive that someone sent, tar or gzipped tar, while it arrives. Nothing of it is held beyond a few chunks.
import type { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createGunzip } from "node:zlib";
import { PlatformError } from "../../runtime-image/contract/errors.ts";
import { SOURCE_ARCHIVE_BYTES_MAX } from "../../runtime-image/contract/limits.ts";
import type { SourceLimits } from "./entry-rules.ts";
import { refusedArchive } from "./refused.ts";
import { readTar } from "./tar.ts";
import { untilAborted } from "./until-aborted.ts";
import { type SourceFacts, writeSource } from "./write-source.ts";

export interface UnpackOptions {
  readonly into: string; // Absolute; is made here, must not be there or be empty.
  readonly signal: AbortSignal;
  readonly limits?: SourceLimits;
  readonly archiveBytesMax?: number; // As it comes, and as the tar that is in it.
}

/** The archive is never destroyed here: whoever has it may still want to answer on the same connection. */
export async function unpackArchive(
  archive: Readable,
  { archiveBytesMax = SOURCE_ARCHIVE_BYTES_MAX, ...options }: UnpackOptions,
): Promise<SourceFacts> {
  const arriving = untilAborted(chunksOf(archive), options.signal);
  const tar = plainBytes(atMost(arriving, archiveBytesMax), archiveBytesMax);
  archive.on("error", hearOfItLater); // It may break before its first byte is asked for.
  try {
    return await writeSource(readTar(tar), options);
  } finally {
    archive.off("error", hearOfItLater);
  }
}

const hearOfItLater = (): void => undefined;

async function* chunksOf(archive: Readable): AsyncGenerator<Uint8Array, void, undefined> {
  let byteCount = 0;
  try {
    // A Readable without an encoding and not of objects gives buffers.
    for await (const chunk of archive.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      byteCount += chunk.byteLength;
      yield chunk;
    }
  } catch (cause) {
    throw refusedArchive(`broke off after ${byteCount} bytes`, cause);
  }
}

/** A bomb stops here, whatever its compression. */
async function* atMost(chunks: AsyncIterable<Uint8Array>, bytesMax: number): AsyncGenerator<Uint8Array, void, undefined> {
  let byteCount = 0;
  for await (const chunk of chunks) {
    byteCount += chunk.byteLength;
    if (byteCount > bytesMax) throw refusedArchive(`is larger than ${bytesMax} bytes, or becomes so when it is unpacked`);
    yield chunk;
  }
}

const GZIP_MAGIC = Buffer.from([0x1f, 0x8b]);

async function* plainBytes(
  chunks: AsyncGenerator<Uint8Array, void, undefined>,
  bytesMax: number,
): AsyncGenerator<Uint8Array, void, undefined> {
  let start = Buffer.alloc(0);
  while (start.length < GZIP_MAGIC.length) {
    const next = await chunks.next();
    if (next.done === true) break;
    start = Buffer.concat([start, next.value]);
  }
  const whole = startingWith(start, chunks);
  yield* start.subarray(0, GZIP_MAGIC.length).equals(GZIP_MAGIC) ? atMost(gunzip(whole), bytesMax) : whole;
}

async function* startingWith(start: Uint8Array, rest: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void, undefined> {
  if (start.byteLength > 0) yield start;
  yield* rest;
}

const UNZIP_CHUNK_BYTES = 65_536;

async function* gunzip(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void, undefined> {
  const unzip = createGunzip({ chunkSize: UNZIP_CHUNK_BYTES });
  const feeding = pipeline(chunks, unzip);
  feeding.catch(() => undefined); // Its reader hears of a failure.
  try {
    yield* unzip as AsyncIterable<Buffer>; // Without an encoding it gives buffers.
  } catch (cause) {
    if (cause instanceof PlatformError) throw cause;
    const code = cause instanceof Error && "code" in cause ? String(cause.code) : "";
    if (!code.startsWith("Z_")) throw cause;
    throw refusedArchive(code === "Z_BUF_ERROR" ? "ends too soon: a part is missing" : "is damaged: its compression is no gzip", cause);
  } finally {
    unzip.destroy();
  }
}
