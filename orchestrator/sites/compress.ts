// Makes compressed variants of files while a deploy is planned, so that no request waits for it.
import { promisify } from "node:util";
import { brotliCompress, brotliDecompress, constants, gunzip, gzip } from "node:zlib";
import { SITE_COMPRESS_BYTES_MAX, SITE_COMPRESS_BYTES_MIN } from "../../runtime-image/contract/limits.ts";

export const ENCODINGS = ["br", "gzip"] as const;
export type Encoding = (typeof ENCODINGS)[number];
export type Variants = Readonly<Partial<Record<Encoding, Buffer>>>;

/** What lies beside a file, packed by its owner: "app.js.br" and "app.js.gz". */
export const SIBLINGS: Readonly<Record<Encoding, string>> = { br: ".br", gzip: ".gz" };

export interface Compressible {
  readonly path: string;
  readonly contentId: string;
  readonly bytes: Buffer;
  readonly siblings: Variants;
}

const BROTLI_QUALITY = 9; // Measured: 18 MB/s; 11 makes texts a tenth smaller and takes twenty times as long.
const GZIP_LEVEL = 9; // For the few clients that know no brotli.
const WORTH_BELOW = 0.95; // A variant that saves less is not worth a second copy.
const MEMO_BYTES_MAX = 64_000_000;

export async function variantsOf(file: Compressible): Promise<Variants> {
  if (file.bytes.length < SITE_COMPRESS_BYTES_MIN || file.bytes.length > SITE_COMPRESS_BYTES_MAX) return {};
  const given = await trueSiblings(file);
  if (!isCompressible(file.path)) return given;
  return { ...(await remembered(file)), ...given };
}

// Variants depend on the bytes alone: with these a reload compresses only what has changed.
const memo = new Map<string, { readonly bytes: number; readonly made: Variants }>();
let memoBytes = 0;

async function remembered({ contentId, bytes }: Compressible): Promise<Variants> {
  const known = memo.get(contentId);
  if (known !== undefined) return known.made;
  const made = await compress(bytes);
  if (!memo.has(contentId)) memoBytes += bytes.length;
  memo.set(contentId, { bytes: bytes.length, made });
  for (const [oldest, entry] of memo) {
    if (memoBytes <= MEMO_BYTES_MAX) break;
    memo.delete(oldest);
    memoBytes -= entry.bytes;
  }
  return made;
}

const packBrotli = promisify(brotliCompress);
const packGzip = promisify(gzip);
const unpackers = { br: promisify(brotliDecompress), gzip: promisify(gunzip) };

async function compress(bytes: Buffer): Promise<Variants> {
  const { BROTLI_PARAM_QUALITY, BROTLI_PARAM_SIZE_HINT } = constants;
  const [br, packed] = await Promise.all([
    packBrotli(bytes, { params: { [BROTLI_PARAM_QUALITY]: BROTLI_QUALITY, [BROTLI_PARAM_SIZE_HINT]: bytes.length } }),
    packGzip(bytes, { level: GZIP_LEVEL }),
  ]);
  const isWorth = (variant: Buffer): boolean => variant.length < bytes.length * WORTH_BELOW;
  return { ...(isWorth(br) ? { br } : {}), ...(isWorth(packed) ? { gzip: packed } : {}) };
}

/** Only what unpacks to the very file: one that was packed before the last edit would serve what is no more. */
async function trueSiblings({ bytes, siblings }: Compressible): Promise<Variants> {
  const checks = ENCODINGS.map(async (encoding) => {
    const sibling = siblings[encoding];
    if (sibling === undefined || sibling.length >= bytes.length) return {};
    const unpacked = await unpackers[encoding](sibling, { maxOutputLength: bytes.length }).catch(() => null);
    return unpacked?.equals(bytes) === true ? { [encoding]: sibling } : {};
  });
  const variants: Variants[] = await Promise.all(checks);
  return variants.reduce((all, one) => ({ ...all, ...one }), {});
}

const COMPRESSIBLE =
  /\.(?:html?|xhtml|css|js|mjs|cjs|ts|json|jsonld|geojson|gltf|map|webmanifest|svg|xml|rss|atom|txt|md|csv|tsv|vtt|srt|ics|yaml|yml|wasm|ttf|otf|eot|ico|bmp)$/i;

const isCompressible = (path: string): boolean => COMPRESSIBLE.test(path);
