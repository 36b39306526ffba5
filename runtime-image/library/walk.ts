// Walks a chain of (request, res, next) functions: callbacks and promises both, until one of them answers.
import { describe, isFields, isThenable, type Fields } from "./fields.ts";

/** User code: whatever it takes and returns. */
export type Middleware = (request: unknown, second: unknown, next?: unknown) => unknown;

export function checkMiddleware(functions: readonly unknown[]): asserts functions is readonly Middleware[] {
  if (functions.length === 0) throw new TypeError("at least one function is needed");
  for (const one of functions) if (typeof one !== "function") throw new TypeError(`${describe(one)} not a function`);
}

export type Outcome = { readonly kind: "answered"; readonly value: unknown } | { readonly kind: "finished" };

/**
 * Resolves with what the first res() was given, or what a function returned that called neither res nor next; "finished" when
 * all have returned and none of them said anything. Fails with what one of them threw, or with what next() was given.
 */
export function walk(functions: readonly Middleware[], request: Fields, pastTheEnd: string): Promise<Outcome> {
  return new Promise((resolve, reject) => {
    const step = (index: number, current: Fields): void => {
      const middleware = functions[index];
      if (middleware === undefined) {
        reject(new Error(pastTheEnd));
        return;
      }
      let isCalled = false;
      const res = (value: unknown): void => {
        isCalled = true;
        resolve({ kind: "answered", value });
      };
      const next = (thrown?: unknown): void => {
        if (isCalled) return;
        isCalled = true;
        if (thrown instanceof Error) reject(thrown);
        else step(index + 1, current);
      };
      /** What a function returned counts only where it called nothing. */
      const settle = (value: unknown): void => {
        if (isCalled) return;
        isCalled = true;
        if (isChangedRequest(value)) step(index + 1, value);
        else if (isAnswer(value)) resolve({ kind: "answered", value });
        else if (index + 1 < functions.length) step(index + 1, current);
        else resolve({ kind: "finished" });
      };
      call(middleware, { request: current, res, next, settle, reject, isLast: index + 1 === functions.length });
    };
    step(0, request);
  });
}

interface Call {
  readonly request: Fields;
  readonly res: (value: unknown) => void;
  readonly next: (thrown?: unknown) => void;
  readonly settle: (value: unknown) => void;
  readonly reject: (thrown: unknown) => void;
  readonly isLast: boolean;
}

function call(middleware: Middleware, { request, res, next, settle, reject, isLast }: Call): void {
  let returned: unknown;
  try {
    returned = middleware(request, res, next);
  } catch (thrown) {
    reject(thrown);
    return;
  }
  // A function that takes res may call it later: what it returns (a timer, often) says nothing.
  const takesRes = middleware.length > 1;
  if (isThenable(returned))
    returned.then((value) => {
      if (isAnswer(value) || !takesRes || !isLast) settle(value);
    }, reject);
  else if (!takesRes) settle(returned);
}

/** An answer is anything truthy. */
export const isAnswer = (value: unknown): boolean => Boolean(value);

/** What has a method is the request that the next function should see, no answer. */
export const isChangedRequest = (value: unknown): value is Fields => isFields(value) && Boolean(value["httpMethod"]);
