// The envelope, for any header and any bytes.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { decodeEnvelope, encodeEnvelope, EnvelopeError, type AnswerHeader } from "../../../runtime-image/contract/envelope.ts";

describe("the envelope", () => {
  it("brings back every header and every byte", () => {
    const headers = fc.array(fc.string({ unit: "binary" }));
    fc.assert(
      fc.property(fc.integer({ min: 200, max: 599 }), headers, fc.uint8Array({ maxLength: 3_000 }), (status, flat, body) => {
        const header: AnswerHeader = {
          v: 1,
          kind: "whole",
          status,
          headers: flat.map((text) => text.toWellFormed()),
          bodyBytes: body.length,
        };
        const decoded = decodeEnvelope<AnswerHeader>(encodeEnvelope(header, body));
        expect(decoded.header).toEqual(header);
        expect(Buffer.from(decoded.body).equals(body)).toBe(true);
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
});
