// Values of user code, whose fields are looked at one by one because nothing is known of them.

export type Fields = Record<string, unknown>;

export const isFields = (value: unknown): value is Fields => typeof value === "object" && value !== null && !Array.isArray(value);

/** An object literal, JSON's objects and null-prototype objects; no class instance, no array, no Error. */
export function isPlain(value: unknown): value is Fields {
  if (!isFields(value)) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  // Objects of another realm (a vm, a worker's message) have an Object.prototype of their own: its own prototype is null.
  return prototype === null || prototype === Object.prototype || Object.getPrototypeOf(prototype) === null;
}

export const isThenable = (value: unknown): value is PromiseLike<unknown> =>
  ((typeof value === "object" && value !== null) || typeof value === "function") && "then" in value && typeof value.then === "function";

/** What was put on an error besides its message: a status, details. */
export const ownFields = (error: Error): Fields => Object.fromEntries(Object.entries(error));

/** What a value is, for an explanation: never the whole of it. */
export function describe(value: unknown): string {
  if (value === null || value === undefined) return String(value);
  if (Array.isArray(value)) return "an array";
  if (typeof value === "object") return isThenable(value) ? "a promise (await it first)" : "an object";
  if (typeof value === "string") return JSON.stringify(value.length > 60 ? `${value.slice(0, 60)}…` : value);
  if (typeof value === "number" || typeof value === "boolean" || typeof value === "bigint") return `the ${typeof value} ${value}`;
  return `a ${typeof value}`;
}
