// One case per row and rule of the older simple API's response object.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { toSimpleAnswer } from "../../../runtime-image/runtime/generations/simple-answer.ts";
import { compare, problemOf, refusalOf, valueOf } from "../../support/play-answers.ts";
import { RIGHT_SIMPLE_ANSWERS, WRONG_SIMPLE_ANSWERS } from "../../support/simple-answers.ts";

const toAnswer = (value: unknown) => toSimpleAnswer(value, { route: "GET /answer/:number" });

describe("a response of the simple generation", () => {
  it.each(RIGHT_SIMPLE_ANSWERS.map((one) => [one.name, one] as const))("is read: %s", async (_name, expected) => {
    const { got, wanted } = compare(expected, toAnswer(await valueOf(expected.returns)));
    expect(got).toEqual(wanted);
  });

  it.each(WRONG_SIMPLE_ANSWERS.map((one) => [one.name, one] as const))("is refused with an explanation: %s", async (_name, wrong) => {
    const refusal = refusalOf(toAnswer, await valueOf(wrong.returns));
    expect(refusal.code).toBe(wrong.code);
    for (const word of wrong.words) expect(refusal.message).toContain(word);
  });

  it.each([
    ["GET /", "GET, HEAD, OPTIONS"],
    ["POST /form", "POST, OPTIONS"],
    ["PATCH /a/:b", "PATCH, OPTIONS"],
    ["PUT /", "PUT, OPTIONS"],
    ["DELETE /", "DELETE, OPTIONS"],
    ["HEAD /", "HEAD, OPTIONS"],
    ["OPTIONS /form", "GET, POST, PATCH, PUT, DELETE, HEAD, OPTIONS"],
    ["ANY /*", "GET, POST, PATCH, PUT, DELETE, HEAD, OPTIONS"],
    ["$default", "GET, POST, PATCH, PUT, DELETE, HEAD, OPTIONS"],
  ])("with cors on the route %s allows the methods %s", (route, methods) => {
    const { headers } = toSimpleAnswer({ cors: true }, { route });
    expect(headers[headers.indexOf("access-control-allow-methods") + 1]).toBe(methods);
  });

  it("is an answer that HTTP can carry or an explained refusal, whatever it is", () => {
    const anyOr = (...likely: fc.Arbitrary<unknown>[]) => fc.oneof(...likely, fc.anything());
    const response = fc.record(
      {
        status: anyOr(fc.integer({ min: 150, max: 650 })),
        code: anyOr(fc.constant(404)),
        statusCode: anyOr(fc.constant(201)),
        type: anyOr(fc.string(), fc.constant("text/html")),
        location: anyOr(fc.string()),
        cookie: anyOr(fc.string(), fc.array(fc.string())),
        cors: anyOr(fc.boolean()),
        cacheControl: anyOr(fc.string()),
        headers: anyOr(fc.dictionary(fc.string(), fc.anything())),
        body: anyOr(fc.string()),
        isBase64Encoded: anyOr(fc.boolean()),
      },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(fc.oneof(response, fc.anything({ withBigInt: true, withNullPrototype: true, withTypedArray: true })), (value) => {
        expect(problemOf(toAnswer, value)).toBe("none");
      }),
      { numRuns: 500 },
    );
  });
});
