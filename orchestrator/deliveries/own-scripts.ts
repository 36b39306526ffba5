// Which scripts of an app's own package.json a delivery runs, and whether packages have to be installed for them. Pure.

export const SCRIPTS = ["build", "lint", "test"] as const;
export type Script = (typeof SCRIPTS)[number];

export interface OwnScripts {
  readonly scripts: readonly Script[];
  readonly needsPackages: boolean;
}

export const NO_SCRIPTS: OwnScripts = { scripts: [], needsPackages: false };

/** What `npm init` writes: no test, and one that always fails. */
const PLACEHOLDER = /^echo "Error: no test specified" && exit 1$/;

/** Null where the text is no package.json. */
export function ownScriptsIn(text: string): OwnScripts | null {
  const value = jsonIn(text);
  if (!isRecord(value)) return null;
  const scripts = isRecord(value["scripts"]) ? value["scripts"] : {};
  const found = SCRIPTS.filter((name) => {
    const script = scripts[name];
    return typeof script === "string" && script.trim() !== "" && !PLACEHOLDER.test(script.trim());
  });
  const asksForPackages = ["dependencies", "devDependencies", "optionalDependencies"].some((key) => {
    const packages = value[key];
    return isRecord(packages) && Object.keys(packages).length > 0;
  });
  return { scripts: found, needsPackages: found.length > 0 && asksForPackages };
}

function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);
