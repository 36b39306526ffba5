// Reads the text of a manifest in each of its formats; the only file that knows the manifest parser.
import parse from "@architect/parser";

export type RawManifest = Readonly<Record<string, unknown>>;

export type ManifestFormat = "arc" | "json" | "yaml";

/** Throws an error whose message says what is wrong and, where the parser knows, in which line. */
export function parseManifestText(text: string, format: ManifestFormat): RawManifest {
  const value: unknown = READERS[format](text);
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw new Error("a manifest is a set of pragmas");
  return { ...value };
}

const READERS: Record<ManifestFormat, (text: string) => unknown> = {
  arc: (text) => parse(text),
  json: (text) => parse.json(text),
  yaml: (text) => parse.yaml(text),
};
