// Plays rows of the tables of answers against an adapter alone, without a gateway.
import { runInThisContext } from "node:vm";
import { PlatformError } from "../../runtime-image/contract/errors.ts";
import type { Answer } from "../../runtime-image/runtime/generations/generation.ts";
import type { AnswerCase } from "./current-answers.ts";

type ToAnswer = (value: unknown) => Answer;

const OF_THE_GATEWAY = new Set(["content-length", "connection", "keep-alive", "date"]);

/** What a handler returns, once it is settled. */
export const valueOf = async (returns: string): Promise<unknown> => (await runInThisContext(`(${returns})`)) as unknown;

/** What of the row an adapter decides, and the same of the answer: equal where the row holds. */
export function compare(expected: AnswerCase, { status, headers, body }: Answer): { readonly got: unknown; readonly wanted: unknown } {
  const names = Object.keys(expected.headers ?? {}).filter((name) => !OF_THE_GATEWAY.has(name));
  const isBodySent = status !== 204 && status !== 304;
  const text = isBodySent ? Buffer.from(body).toString(expected.type === "application/octet-stream" ? "latin1" : "utf8") : "";
  return {
    got: {
      status,
      type: expected.type === undefined ? undefined : valuesOf(headers, "content-type"),
      body: expected.body === undefined ? undefined : text,
      headers: Object.fromEntries(names.map((name) => [name, valuesOf(headers, name)])),
    },
    wanted: {
      status: expected.status,
      type: expected.type,
      body: expected.body,
      headers: Object.fromEntries(names.map((name) => [name, expected.headers?.[name]])),
    },
  };
}

/** As a client sees them: null for none, a list for cookies, and otherwise joined. */
function valuesOf(headers: readonly string[], name: string): string | readonly string[] | null {
  const values = headers.filter((_, index) => index % 2 === 1 && headers[index - 1]?.toLowerCase() === name);
  return values.length === 0 ? null : name === "set-cookie" ? values : values.join(", ");
}

export function refusalOf(toAnswer: ToAnswer, value: unknown): { readonly code: string; readonly message: string } {
  try {
    toAnswer(value);
  } catch (error) {
    if (error instanceof PlatformError) return { code: error.code, message: error.message };
    return { code: "HANDLER_ANSWER_INVALID", message: String(error) }; // User code's own error; the runtime calls it so.
  }
  throw new Error("the answer was taken");
}

/** "none" for an answer that HTTP can carry and for a refusal that is explained. */
export function problemOf(toAnswer: ToAnswer, value: unknown): string {
  try {
    const { status, headers, body } = toAnswer(value);
    const isSendable =
      status >= 200 &&
      status <= 599 &&
      headers.length % 2 === 0 &&
      headers.every((text, index) => /^[\t\x20-\x7e\x80-\xff]*$/.test(text) && (index % 2 === 1 || /^[\w!#$%&'*+\-.^`|~]+$/.test(text)));
    return isSendable && body instanceof Uint8Array ? "none" : `an answer that cannot be sent: ${status} ${headers.join()}`;
  } catch (error) {
    const isExplained = error instanceof PlatformError && ["HANDLER_ANSWER_INVALID", "ANSWER_TOO_LARGE"].includes(error.code);
    return isExplained ? "none" : String(error);
  }
}
