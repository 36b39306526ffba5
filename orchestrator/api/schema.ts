// What is wrong with a value by a schema of the management API, in words; and what a schema makes of the text of a URL. Pure.
import { API_PROBLEM_COUNT_MAX } from "../../runtime-image/contract/limits.ts";
import {
  type Keywords,
  type TObject,
  type TSchema,
  fits,
  isArray,
  isFields,
  isObject,
  isOfFittingLength,
  isOptional,
  isRecord,
} from "./json-schema.ts";

export { Type, type Static, type TObject, type TSchema } from "./json-schema.ts";

/** Every problem with its path and with what should be there. Fields that a schema does not name are problems too, unless it is said to be open. */
export function problemsIn(schema: TSchema, value: unknown, path: string): string[] {
  return [...problems(schema, value, path)].slice(0, API_PROBLEM_COUNT_MAX);
}

function* problems(schema: Keywords, value: unknown, path: string): Generator<string> {
  if (isObject(schema) && isFields(value)) yield* problemsInObject(schema, value, path);
  else if (isRecord(schema) && isFields(value)) yield* problemsInRecord(schema, value, path);
  else if (isArray(schema) && Array.isArray(value) && isOfFittingLength(schema, value))
    for (const [index, item] of value.entries()) yield* problems(schema.items, item, `${path}[${index}]`);
  else if (!fits(schema, value)) yield `${path}: should be ${wordsFor(schema)}, got ${shown(schema, value)}`;
}

function* problemsInObject(
  schema: Keywords & { readonly properties: Readonly<Record<string, Keywords>> },
  value: Readonly<Record<string, unknown>>,
  path: string,
): Generator<string> {
  const known = Object.entries(schema.properties);
  for (const [name, property] of known) {
    const place = join(path, name);
    if (value[name] !== undefined) yield* problems(property, value[name], place);
    else if (!isOptional(property)) yield `${place}: is missing; it should be ${wordsFor(property)}`;
  }
  if (isOpen(schema)) return;
  for (const name of Object.keys(value))
    if (!Object.hasOwn(schema.properties, name))
      yield `${join(path, name)}: is not known; ${known.length === 0 ? "nothing is expected there" : `known are ${known.map(([one]) => one).join(", ")}`}`;
}

const isOpen = (schema: Keywords): boolean => schema.additionalProperties === true;

function* problemsInRecord(
  schema: { readonly patternProperties: Readonly<Record<string, Keywords>> },
  value: Readonly<Record<string, unknown>>,
  path: string,
): Generator<string> {
  const patterns = Object.entries(schema.patternProperties);
  for (const [name, item] of Object.entries(value)) {
    const fitting = patterns.find(([pattern]) => new RegExp(pattern, "u").test(name));
    if (fitting === undefined)
      yield `${join(path, name)}: should have a name that matches ${patterns.map(([pattern]) => pattern).join(" or ")}`;
    else yield* problems(fitting[1], item, join(path, name));
  }
}

const join = (path: string, name: string): string => (path === "" ? name : `${path}.${name}`);

/** A description that a schema carries says it best; it should read on after "should be". */
function wordsFor(keywords: Keywords): string {
  if (keywords.description !== undefined) return keywords.description;
  if (keywords.const !== undefined) return JSON.stringify(keywords.const);
  const values = keywords.enum ?? keywords.anyOf?.map((one) => one.const);
  if (values !== undefined && !values.includes(undefined)) return `one of ${values.map(String).join(", ")}`;
  if (keywords.anyOf !== undefined) return keywords.anyOf.map(wordsFor).join(" or ");
  switch (keywords.type) {
    case "string":
      return `text${rangeOf(keywords.minLength, keywords.maxLength, " characters")}${keywords.pattern === undefined ? "" : ` that matches ${keywords.pattern}`}`;
    case "integer":
      return `a whole number${rangeOf(keywords.minimum, keywords.maximum, "")}`;
    case "number":
      return `a number${rangeOf(keywords.minimum, keywords.maximum, "")}`;
    case "boolean":
      return "true or false";
    case "array":
      return `a list${rangeOf(keywords.minItems, keywords.maxItems, " items")}`;
    case "null":
      return "null";
    case "object":
    case undefined:
    default:
      return "an object";
  }
}

function rangeOf(least: number | undefined, most: number | undefined, unit: string): string {
  if (least === undefined && most === undefined) return "";
  if (most === undefined) return ` of at least ${least}${unit}`;
  return least === undefined ? ` of at most ${most}${unit}` : ` from ${least} to ${most}${unit}`;
}

const SHOWN_LENGTH_MAX = 80;

function shown(schema: Keywords, value: unknown): string {
  if (schema.writeOnly === true) return "something else"; // A secret is not said back.
  const text = JSON.stringify(value) ?? String(value);
  return text.length > SHOWN_LENGTH_MAX ? `${text.slice(0, SHOWN_LENGTH_MAX)}…` : text;
}

/** What a URL says as text, in the types that its schema asks for; what does not fit stays as it is, to be complained about. */
export function fromText(schema: TObject, texts: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    Object.entries(texts).map(([name, text]) => [
      name,
      Object.hasOwn(schema.properties, name) ? typed(schema.properties[name], text) : text,
    ]),
  );
}

function typed(schema: Keywords | undefined, text: unknown): unknown {
  if (schema?.type === "array") return Array.isArray(text) ? text : [text];
  if (typeof text !== "string") return text;
  if (schema?.type === "boolean") return text === "true" || text === "1" ? true : text === "false" || text === "0" ? false : text;
  if ((schema?.type === "integer" || schema?.type === "number") && /^-?\d{1,15}(?:\.\d{1,15})?$/.test(text)) return Number(text);
  return text;
}

/** The same schema with what the check adds to it said in the words of JSON Schema: no fields but those that it names. */
export function closed(schema: Keywords): TSchema {
  if (isObject(schema))
    return {
      ...schema,
      properties: Object.fromEntries(Object.entries(schema.properties).map(([name, one]) => [name, closed(one)])),
      additionalProperties: isOpen(schema),
    };
  return isArray(schema) ? { ...schema, items: closed(schema.items) } : schema;
}
