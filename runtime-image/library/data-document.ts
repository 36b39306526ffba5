// Makes a document of what user code hands over: with a key of its own where it names none.
import { randomBytes } from "node:crypto";
import { checkKey, checkTable, isMissing } from "../contract/document-names.ts";
import { encodeAt, type EncodedDocument } from "../contract/documents.ts";

const KEY_BYTES = 9; // 72 random bits: twelve characters that are safe in a URL.

/** Everything that can be wrong with a document is said here, before anything is written. */
export function encodeDocument(params: Readonly<Record<string, unknown>>): EncodedDocument {
  const table = checkTable(params["table"]);
  const key = isMissing(params["key"]) ? randomBytes(KEY_BYTES).toString("base64url") : checkKey(params["key"]);
  return encodeAt({ table, key }, params);
}
