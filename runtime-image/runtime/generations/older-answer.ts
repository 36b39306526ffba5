// What the answers of the older generations have in common: an object with known fields, and headers with several values.
import { addHeaders, describe, invalid } from "./answer-parts.ts";

export const JSON_TYPE = "application/json; charset=utf-8";

export type Fields<Name extends string> = Readonly<Partial<Record<Name, unknown>>>;

/**
 * The value, where it is an object that these fields can be read of. One that has none of them and something else instead
 * would be answered with nothing of what it says: that is a mistake worth telling.
 */
export function readFields<Name extends string>(value: unknown, names: readonly Name[]): Fields<Name> {
  const expected = `an object with at least one of ${names.join(", ")}`;
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw invalid("the answer", expected, describe(value));
  const fields = value as Fields<Name>; // Any object may have such fields, and any of them may be missing.
  if (names.some((name) => fields[name] !== undefined) || isEmpty(value, names)) return fields;
  throw invalid("the answer", expected, describeKeys(value), "{ body: JSON.stringify(…) } answers with JSON");
}

/** Nothing is lost of a plain object that says nothing: every field has a default. */
function isEmpty(value: object, names: readonly string[]): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return (prototype === Object.prototype || prototype === null) && Object.keys(value).every((name) => names.includes(name));
}

const KEYS_NAMED_MAX = 5;

function describeKeys(value: object): string {
  const keys = Object.keys(value);
  if (keys.length === 0) return describe(value);
  const named = keys.slice(0, KEYS_NAMED_MAX).map((key) => JSON.stringify(key.slice(0, 40)));
  return `${describe(value)} with ${named.join(", ")}${keys.length > KEYS_NAMED_MAX ? " and more" : ""}`;
}

/** Adds to the headers that are there already; a name and value that both know is sent once, as AWS does. */
export function addMultiValueHeaders(headers: string[], multiValueHeaders: unknown): void {
  if (multiValueHeaders === undefined || multiValueHeaders === null) return;
  const known = new Set<string>();
  for (let index = 0; index < headers.length; index += 2) known.add(pairOf(headers, index));
  const added: string[] = [];
  addHeaders(added, multiValueHeaders, "multiValueHeaders");
  for (let index = 0; index < added.length; index += 2)
    if (!known.has(pairOf(added, index))) headers.push(added[index] ?? "", added[index + 1] ?? "");
}

const pairOf = (headers: readonly string[], index: number): string => `${headers[index]?.toLowerCase()}\n${headers[index + 1]}`;
