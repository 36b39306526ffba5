// The envelope, for any header, any bytes, and any damage on the way.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  decodeEnvelope,
  encodeEnvelope,
  EnvelopeError,
  type AnswerHeader,
  type PullHeader,
  type RequestHeader,
} from "../../../runtime-image/contract/envelope.ts";

const text = fc.string({ unit: "binary" }).map((value) => value.toWellFormed()); // A lone half of a pair is no text, and cannot travel.
const flat = fc.array(text, { maxLength: 20 });
const count = fc.nat();
const v = fc.constant(1);
const status = fc.integer({ min: 200, max: 599 });
const body = fc.uint8Array({ maxLength: 3_000 });

const requestHeader: fc.Arbitrary<RequestHeader> = fc.record({
  v,
  id: text,
  method: text,
  path: text,
  query: text,
  route: text,
  params: fc.option(fc.dictionary(text, text)),
  headers: flat,
  sourceIp: text,
  scheme: fc.constantFrom("http", "https"),
  httpVersion: text,
  startEpochMs: count,
  timeoutMs: count,
});
const answerHeader: fc.Arbitrary<AnswerHeader> = fc.oneof(
  fc.record({ v, kind: fc.constant("whole" as const), status, headers: flat, bodyBytes: count }),
  fc.record({ v, kind: fc.constant("held" as const), status, headers: flat, bodyBytes: count, streamId: text }),
  fc.record({ v, kind: fc.constant("chunk" as const), offset: count }),
  fc.record({ v, kind: fc.constant("gone" as const) }),
  fc.record({ v, kind: fc.constant("failed" as const), code: text, message: text, stack: text }),
);
const pullHeader: fc.Arbitrary<PullHeader> = fc.record({ v, streamId: text, offset: count, chunkCount: count });
const header = fc.oneof(requestHeader, answerHeader, pullHeader);

/** What a broken sender, or a sender with other intentions, could make of bytes. */
type Damage =
  | { readonly kind: "flipped"; readonly at: number; readonly mask: number }
  | { readonly kind: "cut"; readonly at: number }
  | { readonly kind: "begun later"; readonly at: number }
  | { readonly kind: "longer header"; readonly bytes: number };

const damage: fc.Arbitrary<Damage> = fc.oneof(
  fc.record({ kind: fc.constant("flipped" as const), at: fc.nat(), mask: fc.integer({ min: 1, max: 255 }) }),
  fc.record({ kind: fc.constant("cut" as const), at: fc.nat() }),
  fc.record({ kind: fc.constant("begun later" as const), at: fc.nat() }),
  fc.record({ kind: fc.constant("longer header" as const), bytes: fc.integer({ min: 0, max: 0xffff_ffff }) }),
);

function damaged(whole: Uint8Array, how: Damage): Uint8Array {
  const bytes = Buffer.from(whole);
  switch (how.kind) {
    case "flipped":
      bytes.writeUInt8(bytes.readUInt8(how.at % bytes.length) ^ how.mask, how.at % bytes.length);
      return bytes;
    case "cut":
      return bytes.subarray(0, how.at % bytes.length);
    case "begun later":
      return bytes.subarray((how.at % bytes.length) + 1);
    case "longer header":
      bytes.writeUInt32BE(how.bytes, 0);
      return bytes;
  }
}

/** The version of what came out, or "refused" where it was refused as it should be. */
function versionOf(bytes: Uint8Array): number | "refused" {
  try {
    return decodeEnvelope(bytes).header.v;
  } catch (thrown) {
    if (thrown instanceof EnvelopeError) return "refused";
    throw thrown;
  }
}

const READ: readonly unknown[] = [0, 1, "refused"];

describe("the envelope", () => {
  it("brings back every header and every byte", () => {
    fc.assert(
      fc.property(header, body, (sent, bytes) => {
        const decoded = decodeEnvelope(encodeEnvelope(sent, bytes));
        expect(decoded.header).toEqual(sent);
        expect(Buffer.from(decoded.body).equals(bytes)).toBe(true);
      }),
      { numRuns: 500 },
    );
  });

  it("can be read from the middle of a larger piece of memory, where a client's buffers lie", () => {
    fc.assert(
      fc.property(header, body, fc.nat(50), (sent, bytes, before) => {
        const memory = Buffer.concat([Buffer.alloc(before, 0xff), encodeEnvelope(sent, bytes), Buffer.alloc(9, 0xff)]);
        const decoded = decodeEnvelope(memory.subarray(before, memory.length - 9));
        expect(decoded.header).toEqual(sent);
        expect(Buffer.from(decoded.body).equals(bytes)).toBe(true);
      }),
    );
  });

  it("refuses any bytes that are none, with an error of its own", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        expect(() => decodeEnvelope(bytes)).toThrow(EnvelopeError);
      }),
    );
  });

  it("after any damage is refused with an error of its own, or is an object of a version that is read", () => {
    fc.assert(
      fc.property(header, body, fc.array(damage, { minLength: 1, maxLength: 3 }), (sent, bytes, hows) => {
        const sound = encodeEnvelope(sent, bytes);
        const broken = hows.reduce((whole: Uint8Array, how) => (whole.length < 5 ? whole : damaged(whole, how)), sound);
        expect(READ).toContain(versionOf(broken));
      }),
      { numRuns: 2_000 },
    );
  });

  it("around any JSON is refused with an error of its own, or is an object of a version that is read", () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.json(),
          fc.json().map((json) => `{"v":1,"kind":${json}}`),
          fc.string(),
        ),
        (json) => {
          const bytes = Buffer.concat([Buffer.alloc(4), Buffer.from(json)]);
          bytes.writeUInt32BE(bytes.length - 4, 0);
          expect(READ).toContain(versionOf(bytes));
        },
      ),
      { numRuns: 1_000 },
    );
  });

  it("of a version that is not read is refused", () => {
    for (const version of [-1, 2, 1.5, 1e9])
      expect(() => decodeEnvelope(encodeEnvelope({ v: version, kind: "gone" }))).toThrow(EnvelopeError);
  });
});
