// How the bytes of a body reach a handler: as base64, or as text where the app wants its JSON raw.
import { isUtf8 } from "node:buffer";
import type { FlatHeaders } from "../../contract/envelope.ts";
import { isJsonType } from "./content-type.ts";
import { headerOf } from "./flat-headers.ts";

export interface EventWithBody {
  body?: string | null;
  isBase64Encoded: boolean;
}

export type AddBody = (event: EventWithBody, bytes: Uint8Array, headers: FlatHeaders) => void;

/** Called for bodies that are not empty only. */
export const bodyWriter = (options: { readonly rawJson: boolean }): AddBody => (options.rawJson ? addRawJson : addBase64);

/** JSON that is no UTF-8 is no JSON: it stays what every other body is. */
function addRawJson(event: EventWithBody, bytes: Uint8Array, headers: FlatHeaders): void {
  if (!isJsonType(headerOf(headers, "content-type")) || !isUtf8(bytes)) return addBase64(event, bytes);
  event.body = bufferOf(bytes).toString("utf8");
  event.isBase64Encoded = false;
}

/**
 * The contract wants bodies as base64, and its GraphQL example assigns `event.body = JSON.stringify(…)` and passes the event on:
 * both hold because assigning clears the flag. The base64 is made when it is first asked for.
 */
function addBase64(event: EventWithBody, bytes: Uint8Array): void {
  let value: string | null = null;
  let isAssigned = false;
  const read = (): string | null => (isAssigned ? value : (value ??= bufferOf(bytes).toString("base64")));
  event.isBase64Encoded = true;
  Object.defineProperty(event, "body", {
    enumerable: true,
    configurable: true,
    get: read,
    set: (next: string | null) => {
      // Adapters write `event.body = event.body || ""`, which says nothing new: it is base64 still.
      if (next === read()) return;
      value = next;
      isAssigned = true;
      event.isBase64Encoded = false;
    },
  });
}

const bufferOf = (bytes: Uint8Array): Buffer => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
