// Every example of docs/manifest.md is what the reader of manifests accepts without a problem or a warning.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { readOptOuts } from "../../../orchestrator/apps/function-settings.ts";
import { readManifest } from "../../../orchestrator/apps/manifest.ts";
import { type ManifestFormat, parseManifestText } from "../../../orchestrator/apps/manifest-text.ts";
import { folderNames, methodOf } from "../../../orchestrator/apps/routes.ts";
import { checkVariables } from "../../../orchestrator/apps/variables.ts";
import { parseEnvText } from "../../../orchestrator/apps/variables-text.ts";

const DOCUMENT = readFileSync(join(import.meta.dirname, "../../../docs/manifest.md"), "utf8");
const blocks = [...DOCUMENT.matchAll(/```(arc|json|yaml|env)\n([\s\S]*?)```/g)].map(([, format = "", text = ""]) => ({ format, text }));
const manifests = blocks.filter(({ format }) => format !== "env");

describe("the document of manifests", () => {
  it.each(manifests)("has an example that is right: $text", ({ format, text }) => {
    // The expression above matches these formats only.
    const raw = parseManifestText(text, format as ManifestFormat);
    const { problems, warnings } = readManifest(raw, "app");
    const findings = { problems: [...problems], warnings: [...warnings] };
    readOptOuts(raw["arc"], findings);
    expect(findings).toEqual({ problems: [], warnings: [] });
  });

  it("shows the same app in each format", () => {
    const [first, ...others] = manifests
      .slice(0, 3)
      .map(({ format, text }) => readManifest(parseManifestText(text, format as ManifestFormat), "app").value);
    expect(first?.routes).toHaveLength(2);
    for (const other of others) expect(other).toEqual(first);
  });

  it("names the folders that are looked for", () => {
    const rows = [...DOCUMENT.matchAll(/^\| `(\w+) (\/\S*)` \| `src\/http\/(\S+)`(?:, or `(\S+)`)? \|$/gm)];
    expect(rows).toHaveLength(6);
    for (const [, word, path = "", ...names] of rows)
      expect(folderNames({ method: methodOf(word) ?? "GET", path })).toEqual(names.filter((name) => name !== undefined));
  });

  it("has an example of variables that is right", () => {
    const [example] = blocks.filter(({ format }) => format === "env");
    const { value, problems, warnings } = checkVariables([{ fileName: ".env", ...parseEnvText(example?.text ?? "") }]);
    expect([problems, warnings]).toEqual([[], []]);
    expect(Object.keys(value.production)).toEqual(["GREETING", "PRIVATE_KEY", "API_URL"]);
    expect(value.staging["API_URL"]).toBe("https://staging.example.com");
  });
});
