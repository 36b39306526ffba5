// What crosses the broker for one request or answer: [u32 header length][JSON header][raw body], versioned.

export const ENVELOPE_VERSION = 1;

/** Names and values in turn, as they were sent: order, case and repeats survive. */
export type FlatHeaders = readonly string[];

export interface RequestHeader {
  readonly v: number;
  readonly id: string;
  readonly method: string; // As sent, HEAD included.
  readonly path: string; // As sent, without the query.
  readonly query: string; // As sent, without the leading "?".
  readonly route: string; // "GET /shop/:item", "ANY /files/*" or "$default".
  readonly params: Readonly<Record<string, string>> | null; // Decoded. A catch-all is called "proxy".
  readonly headers: FlatHeaders;
  readonly sourceIp: string;
  readonly scheme: "http" | "https";
  readonly httpVersion: string; // "1.1"
  readonly startEpochMs: number;
  readonly timeoutMs: number; // What is left for the handler, from the moment that the envelope is sent.
}

export type AnswerHeader =
  /** The body follows in the same message, unless the answer has none to send (HEAD, 204, 304): bodyBytes is its true length. */
  | { readonly v: number; readonly kind: "whole"; readonly status: number; readonly headers: FlatHeaders; readonly bodyBytes: number }
  /** The body waits in the instance, to be pulled in chunks. */
  | {
      readonly v: number;
      readonly kind: "held";
      readonly status: number;
      readonly headers: FlatHeaders;
      readonly bodyBytes: number;
      readonly streamId: string;
    }
  /** A file of the app's site answers, as if its path had been asked for at the root: the gateway has those files. */
  | { readonly v: number; readonly kind: "site"; readonly path: string; readonly isSpa: boolean }
  | { readonly v: number; readonly kind: "chunk"; readonly offset: number }
  | { readonly v: number; readonly kind: "gone" } // The stream that was asked for is not, or no longer, held.
  | { readonly v: number; readonly kind: "failed"; readonly code: string; readonly message: string; readonly stack?: string };

/** Asks for the next chunks of a held body; a count of 0 lets it go. */
export interface PullHeader {
  readonly v: number;
  readonly streamId: string;
  readonly offset: number;
  readonly chunkCount: number;
}

const NO_BYTES = new Uint8Array(0);

export function encodeEnvelope(header: RequestHeader | AnswerHeader | PullHeader, body: Uint8Array = NO_BYTES): Uint8Array {
  const json = JSON.stringify(header);
  const headerBytes = Buffer.byteLength(json);
  const bytes = Buffer.allocUnsafe(4 + headerBytes + body.length);
  bytes.writeUInt32BE(headerBytes, 0);
  bytes.write(json, 4, headerBytes, "utf8");
  if (body.length > 0) bytes.set(body, 4 + headerBytes);
  return bytes;
}

/** The caller names the header it expects: the subject that a message came on says which. The body is a view, not a copy. */
// oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- It stands for the cast that each caller would write instead.
export function decodeEnvelope<Header extends RequestHeader | AnswerHeader | PullHeader>(
  bytes: Uint8Array,
): { header: Header; body: Uint8Array } {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (buffer.length < 4) throw new EnvelopeError(`an envelope has at least 4 bytes, got ${buffer.length}`);
  const headerEnd = 4 + buffer.readUInt32BE(0);
  if (headerEnd > buffer.length)
    throw new EnvelopeError(`the header should end at ${headerEnd}, beyond the ${buffer.length} bytes there are`);
  const header = parseHeader(buffer.toString("utf8", 4, headerEnd));
  // A gateway reads envelopes one version older than its own, so that it can be replaced before the instances are.
  if (header.v !== ENVELOPE_VERSION && header.v !== ENVELOPE_VERSION - 1)
    throw new EnvelopeError(`the envelope has version ${header.v}, this side reads ${ENVELOPE_VERSION}`);
  // Both sides are ours, and the subject says which kind of header it is; its version was checked.
  return { header: header as Header, body: buffer.subarray(headerEnd) };
}

export class EnvelopeError extends Error {}

function parseHeader(json: string): { v: number } {
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch (cause) {
    throw new EnvelopeError("the header is not JSON", { cause });
  }
  if (typeof value !== "object" || value === null || !("v" in value) || typeof value.v !== "number")
    throw new EnvelopeError("the header is no object with a version");
  return value as { v: number }; // Checked above; a copy would cost as much as reading it.
}
