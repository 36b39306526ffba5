// Documents as they are stored: JSON with the names of table and key in it, until their ttl is over.
import { randomBytes } from "node:crypto";
import { DOCUMENT_BYTES_MAX } from "../contract/limits.ts";
import type { StoredValue } from "./bridge.ts";
import { checkKey, checkTable, isMissing, type DocumentPlace } from "./data-names.ts";

export interface Document {
  readonly table: string;
  readonly key: string;
  readonly ttl?: number; // Epoch in seconds. From then on the document is gone.
  readonly [attribute: string]: unknown;
}

export interface EncodedDocument {
  readonly place: DocumentPlace;
  readonly bytes: Uint8Array;
  readonly document: Document; // As it will be read.
}

const KEY_BYTES = 9; // 72 random bits: twelve characters that are safe in a URL.

/** Everything that can be wrong with a document is said here, before anything is written. What was handed over is not changed. */
export function encodeDocument(params: Readonly<Record<string, unknown>>): EncodedDocument {
  const table = checkTable(params["table"]);
  const key = isMissing(params["key"]) ? randomBytes(KEY_BYTES).toString("base64url") : checkKey(params["key"]);
  const json = JSON.stringify({ ...params, table, key });
  const bytes = Buffer.from(json, "utf8");
  if (bytes.length > DOCUMENT_BYTES_MAX) throw new Error(`Item too large; must be less than ${DOCUMENT_BYTES_MAX / 1_000}KB`);
  return { place: { table, key }, bytes, document: parse(json) };
}

export const decodeDocument = ({ bytes }: StoredValue): Document =>
  parse(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("utf8"));

export const isExpired = ({ ttl }: Document): boolean => typeof ttl === "number" && ttl * 1_000 <= Date.now();

const parse = (json: string): Document => JSON.parse(json) as Document; // encodeDocument() wrote it.
