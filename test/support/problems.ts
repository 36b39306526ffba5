// Reads the error answers of a gateway, and checks what is true of every one of them.
import { expect } from "vitest";

interface AnyAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly text: string;
}

export interface Problem {
  readonly status: number;
  readonly code: string;
  readonly detail: string | null;
}

const FIELDS = ["code", "detail", "requestId", "status", "title", "type"];

/** RFC 9457 problem details with the request's id, which nobody may store. Fails on a field that does not belong there, such as a stack. */
export function problemOf(answer: AnyAnswer): Problem {
  expect(answer.headers).toMatchObject({
    "content-type": "application/problem+json",
    "cache-control": expect.stringContaining("no-store") as unknown,
  });
  const fields = JSON.parse(answer.text) as Record<string, unknown>; // Looked at field by field below.
  expect(Object.keys(fields).filter((name) => !FIELDS.includes(name))).toEqual([]);
  expect(fields).toMatchObject({
    status: answer.status,
    requestId: answer.headers["x-request-id"],
    title: expect.stringMatching(/\w/) as unknown,
  });
  const { code, detail } = fields;
  return { status: answer.status, code: String(code), detail: typeof detail === "string" ? detail : null };
}
