// Documents as they are stored: JSON with the names of table and key in it, until their ttl is over.
import type { DocumentPlace } from "./document-names.ts";
import { DOCUMENT_BYTES_MAX } from "./limits.ts";

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

/** What was handed over is not changed. */
export function encodeAt(place: DocumentPlace, attributes: Readonly<Record<string, unknown>>): EncodedDocument {
  const json = JSON.stringify({ ...attributes, ...place });
  const bytes = Buffer.from(json, "utf8");
  if (bytes.length > DOCUMENT_BYTES_MAX) throw new Error(`Item too large; must be less than ${DOCUMENT_BYTES_MAX / 1_000}KB`);
  return { place, bytes, document: parse(json) };
}

export const decodeDocument = ({ bytes }: { readonly bytes: Uint8Array }): Document =>
  parse(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("utf8"));

export const isExpired = ({ ttl }: Document, nowEpochMs = Date.now()): boolean => typeof ttl === "number" && ttl * 1_000 <= nowEpochMs;

/** What a store is told of a document that ends. */
export const expiryOf = ({ ttl }: Document): { readonly expiresEpochMs?: number } =>
  typeof ttl === "number" ? { expiresEpochMs: ttl * 1_000 } : {};

const parse = (json: string): Document => JSON.parse(json) as Document; // encodeAt() wrote it.
