// html.csrf: middleware that lets a form through only with the token that its page was given.
import { verifyCsrfToken } from "./csrf.ts";
import { isFields } from "./fields.ts";

export function formGuard(request: unknown, res: unknown, next: unknown): void {
  const fields = isFields(request) ? request : {};
  const body = isFields(fields["body"]) ? fields["body"] : {};
  if (verifyCsrfToken(body["csrf"])) {
    if (typeof next === "function") Reflect.apply(next, undefined, []);
    return;
  }
  const error = Object.assign(new Error("invalid csrf token"), { status: 403 });
  if (typeof res !== "function") throw error; // Under http.async, which gives its functions no res.
  Reflect.apply(res, undefined, [error]);
}
