// Reads the text of a manifest in each of its formats into one form; the only file that knows the manifest parser.
import parse, { type Token } from "@architect/parser";
import yaml from "@architect/parser/src/compat/vendor/js-yaml.min.js";
import { MANIFEST_VALUE_COUNT_MAX } from "../../runtime-image/contract/limits.ts";

/**
 * Each pragma is a list of items: a value, a list of values, or an object with one key, whose value is a list of values
 * or of [key, ...values] (in JSON and YAML also an object).
 */
export type RawManifest = Readonly<Record<string, readonly unknown[]>>;

export type ManifestFormat = "arc" | "json" | "yaml";

/** Throws an error whose message says what is wrong and, where the parser knows, in which line. */
export function parseManifestText(text: string, format: ManifestFormat): RawManifest {
  const plain = text.startsWith("\uFEFF") ? text.slice(1) : text;
  switch (format) {
    case "arc":
      return arcPragmas(plain);
    case "json":
      return objectPragmas(JSON.parse(plain));
    case "yaml":
      return objectPragmas(bounded(yaml.load(plain)));
  }
}

/** A few aliases in YAML make a value that nobody could walk through, or one that holds itself. */
function bounded(value: unknown): unknown {
  const waiting = [value];
  for (let count = 0; waiting.length > 0; count += 1) {
    if (count + waiting.length > MANIFEST_VALUE_COUNT_MAX) throw new Error(`holds more than ${MANIFEST_VALUE_COUNT_MAX} values`);
    const next = waiting.pop();
    if (typeof next === "object" && next !== null) for (const part of Object.values(next)) waiting.push(part);
  }
  return value;
}

/** The parser's own last step keeps one of several equal keys of a block only, so we take what it makes before that. */
function arcPragmas(text: string): RawManifest {
  const { lines, addedBefore } = onLinesOfTheirOwn(text);
  let tokens: readonly Token[];
  try {
    tokens = parse.parser(parse.lexer(lines)).values;
  } catch (cause) {
    const message = cause instanceof Error ? cause.message : String(cause);
    const told = message.replace(/line: (\d+)/, (_whole, line: string) => `line: ${Number(line) - addedBefore(Number(line))}`);
    // The parser has no sentence for a block whose last key has no value.
    throw new Error(cause instanceof TypeError && told === message ? "a key of a block has no value" : told, { cause });
  }
  return Object.fromEntries(tokens.filter((token) => token.type === "pragma").map((token) => [token.name ?? "", items(token)]));
}

/** "@generation simple" on one line, which the parser refuses, becomes two; problems still name the lines that were written. */
function onLinesOfTheirOwn(text: string): { readonly lines: string; readonly addedBefore: (line: number) => number } {
  const added: number[] = [];
  const lines = text.split(/\r\n|\r|\n/).flatMap((line, index) => {
    const [, pragma, value] = /^(@[\w-]+)[ \t]+([^#\s].*)$/.exec(line) ?? [];
    if (pragma === undefined || value === undefined) return [line];
    added.push(index + 1 + added.length);
    return [pragma, value];
  });
  return { lines: lines.join("\n"), addedBefore: (line) => added.filter((one) => one < line).length };
}

const items = (pragma: Token): unknown[] =>
  (pragma.values ?? []).flatMap((token): unknown[] => {
    switch (token.type) {
      case "array":
        return [scalarsOf(token)];
      case "vector":
        return [{ [token.name ?? ""]: scalarsOf(token) }];
      case "map":
        return [{ [token.name ?? ""]: (token.values ?? []).map((key) => [key.name, ...scalarsOf(key)]) }];
      default:
        return isScalar(token) ? [token.value] : [];
    }
  });

const scalarsOf = (token: Token): unknown[] => (token.values ?? []).filter(isScalar).map((one) => one.value);

const isScalar = (token: Token): boolean => ["string", "number", "boolean"].includes(token.type);

/** The parser's reader of JSON drops "generation": "legacy" and every key but the first of an item, so this is ours. */
function objectPragmas(value: unknown): RawManifest {
  if (!isRecord(value)) throw new Error("a manifest is an object whose keys are pragmas");
  return Object.fromEntries(Object.entries(value).map(([pragma, content]) => [pragma, itemsOf(content)]));
}

function itemsOf(content: unknown): unknown[] {
  if (content === null || content === undefined) return [];
  if (Array.isArray(content)) return content.flatMap((item: unknown) => (isRecord(item) ? pairsOf(item) : [item]));
  return isRecord(content) ? pairsOf(content) : [content];
}

const pairsOf = (record: Record<string, unknown>): unknown[] =>
  Object.entries(record).map(([key, value]) => (typeof value === "object" ? { [key]: value ?? [] } : [key, value]));

const isRecord = (value: unknown): value is Record<string, unknown> => typeof value === "object" && value !== null && !Array.isArray(value);
