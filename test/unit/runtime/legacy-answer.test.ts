// One case per row and rule of the contract's response object, payload version 1.0.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { toLegacyAnswer } from "../../../runtime-image/runtime/generations/legacy-answer.ts";
import { RIGHT_LEGACY_ANSWERS, WRONG_LEGACY_ANSWERS } from "../../support/legacy-answers.ts";
import { compare, problemOf, refusalOf, valueOf } from "../../support/play-answers.ts";

describe("a response of the legacy generation", () => {
  it.each(RIGHT_LEGACY_ANSWERS.map((one) => [one.name, one] as const))("is read: %s", async (_name, expected) => {
    const { got, wanted } = compare(expected, toLegacyAnswer(await valueOf(expected.returns)));
    expect(got).toEqual(wanted);
  });

  it.each(WRONG_LEGACY_ANSWERS.map((one) => [one.name, one] as const))("is refused with an explanation: %s", async (_name, wrong) => {
    const refusal = refusalOf(toLegacyAnswer, await valueOf(wrong.returns));
    expect(refusal.code).toBe(wrong.code);
    for (const word of wrong.words) expect(refusal.message).toContain(word);
  });

  it("is refused where it is an instance of a class that has no field of an answer", () => {
    for (const value of [new Map([["body", "x"]]), new Date(), Buffer.from("x")])
      expect(refusalOf(toLegacyAnswer, value).code).toBe("HANDLER_ANSWER_INVALID");
  });

  it("is an answer that HTTP can carry or an explained refusal, whatever it is", () => {
    const response = fc.record(
      {
        statusCode: fc.oneof(fc.integer({ min: 150, max: 650 }), fc.anything()),
        headers: fc.oneof(fc.dictionary(fc.string(), fc.anything()), fc.anything()),
        multiValueHeaders: fc.oneof(fc.dictionary(fc.string(), fc.array(fc.oneof(fc.string(), fc.anything()))), fc.anything()),
        body: fc.oneof(fc.string(), fc.anything()),
        isBase64Encoded: fc.oneof(fc.boolean(), fc.anything()),
        cookies: fc.oneof(fc.array(fc.string()), fc.anything()),
      },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(fc.oneof(response, fc.anything({ withBigInt: true, withNullPrototype: true, withTypedArray: true })), (value) => {
        expect(problemOf(toLegacyAnswer, value)).toBe("none");
      }),
      { numRuns: 500 },
    );
  });
});
