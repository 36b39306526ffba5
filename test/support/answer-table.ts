// Holds an answer that came over HTTP against its row in a table of answers, whatever generation the handler speaks.
import { createHash } from "node:crypto";
import type { AnswerCase } from "./current-answers.ts";
import type { Answer } from "./platform.ts";

/** What of the answer the row speaks of, and what it says: equal where the row holds. */
export function compareAnswer(answer: Answer, expected: AnswerCase): { readonly got: unknown; readonly wanted: unknown } {
  const type = answer.headers["content-type"] ?? null;
  const body = type === "application/octet-stream" ? answer.body.toString("latin1") : answer.text;
  const names = Object.keys(expected.headers ?? {});
  return {
    got: {
      status: answer.status,
      type: expected.type === undefined ? null : type,
      body: short(body),
      headers: Object.fromEntries(names.map((name) => [name, answer.headers[name] ?? null])),
      isDated: Math.abs(Date.parse(answer.headers.date ?? "") - Date.now()) < 60_000,
      hasId: /^[\w-]{16,}$/.test(String(answer.headers["x-request-id"])),
    },
    wanted: {
      status: expected.status,
      type: expected.type ?? null,
      body: short(expected.body ?? body),
      headers: expected.headers ?? {},
      isDated: true,
      hasId: true,
    },
  };
}

/** A difference in 6 MB is not worth reading. */
const short = (text: string): string =>
  text.length < 1_000 ? text : `${text.length} characters, ${createHash("sha256").update(text).digest("hex")}`;
