// Holds an answer that came over HTTP against its row in a table of answers, whatever generation the handler speaks.
import { createHash } from "node:crypto";
import { expect } from "vitest";
import type { AnswerCase } from "./current-answers.ts";
import type { Answer } from "./platform.ts";

export function expectAnswer(answer: Answer, expected: AnswerCase): void {
  const type = answer.headers["content-type"] ?? null;
  const body = type === "application/octet-stream" ? answer.body.toString("latin1") : answer.text;
  const wanted = { status: expected.status, type: expected.type ?? null, body: short(expected.body ?? body) };
  expect({ status: answer.status, type: expected.type === undefined ? null : type, body: short(body) }).toEqual(wanted);
  for (const [name, value] of Object.entries(expected.headers ?? {}))
    expect({ [name]: answer.headers[name] ?? null }).toEqual({ [name]: value });
  expect(Math.abs(Date.parse(answer.headers.date ?? "") - Date.now())).toBeLessThan(60_000);
  expect(answer.headers["x-request-id"]).toMatch(/^[\w-]{16,}$/);
}

/** A difference in 6 MB is not worth reading. */
const short = (text: string): string =>
  text.length < 1_000 ? text : `${text.length} characters, ${createHash("sha256").update(text).digest("hex")}`;
