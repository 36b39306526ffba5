// Reads single settings out of a pragma's items, collects what is wrong or odd about them, and knows the originals' pragmas. Pure.
import type { RawManifest } from "./manifest-text.ts";

/** What readers find besides values: problems stop a deploy, warnings do not. */
export interface Findings {
  readonly problems: string[];
  readonly warnings: string[];
}

export interface Checked<Value> {
  readonly value: Value;
  readonly problems: readonly string[];
  readonly warnings: readonly string[];
}

/** The values of a setting: a line "ignore a b", a block with a value per line, or a key of an object. Undefined where it is not there. */
export function valuesOf(items: unknown, name: string): readonly unknown[] | undefined {
  if (isRecord(items)) return Object.hasOwn(items, name) ? listOf(items[name]) : undefined;
  if (!isList(items)) return undefined;
  for (const item of items) {
    if (isList(item) && item[0] === name) return item.slice(1);
    if (isRecord(item) && Object.hasOwn(item, name)) return listOf(item[name]);
  }
  return undefined;
}

/** A setting that has one value. */
export function settingOf(items: unknown, name: string): unknown {
  const values = valuesOf(items, name);
  return values === undefined || values.length === 1 ? values?.[0] : values;
}

/** The names of all settings of a pragma, in their order. */
export const settingNames = (items: readonly unknown[]): string[] =>
  items.flatMap((item) => (isList(item) ? [String(item[0])] : isRecord(item) ? Object.keys(item) : [String(item)]));

/** The only value of a pragma such as @app; undefined where it is not there. */
export function onlyValueOf(raw: RawManifest, pragma: string): unknown {
  const items = raw[pragma];
  return items === undefined || items.length === 1 ? items?.[0] : items;
}

/** True or false, also as text; the fallback where the setting is not there. */
export function flagOf(items: unknown, setting: { readonly pragma: string; readonly name: string }, findings: Findings): boolean {
  const value = settingOf(items, setting.name);
  if (value === undefined) return false;
  if (value === true || value === "true") return true;
  if (value === false || value === "false") return false;
  findings.problems.push(`@${setting.pragma} ${setting.name}: should be true or false, got ${show(value)}`);
  return false;
}

/** What the originals ran and this platform does not; an app that has them is served, without them. */
const NOT_RUN: Readonly<Record<string, string>> = {
  events: "events are not delivered",
  queues: "queues are not run",
  scheduled: "nothing runs on a schedule",
  streams: "streams are not read",
  "tables-streams": "streams are not read",
  ws: "WebSocket functions are not run",
  plugins: "plugins are not loaded, and routes that they would make are missing",
  macros: "macros are not run",
  slack: "Slack functions are not run",
  bots: "bots are not run",
};

const UNDERSTOOD = "app aws http html json css js text xml static proxy shared views generation orchestrator";
const WITHOUT_EFFECT =
  "arc architect begin cdn create deploy description dns domain env hydrate import indexes local package prune sandbox src tables tables-indexes testing types";
const KNOWN: ReadonlySet<string> = new Set([...UNDERSTOOD.split(" "), ...WITHOUT_EFFECT.split(" "), ...Object.keys(NOT_RUN)]);

export function pragmaWarnings(raw: RawManifest): string[] {
  return Object.entries(raw).flatMap(([pragma, content]) => {
    const reason = Object.hasOwn(NOT_RUN, pragma) ? NOT_RUN[pragma] : undefined;
    if (reason !== undefined) return content.length === 0 ? [] : [`@${pragma}: ${reason} on this platform`];
    return KNOWN.has(pragma) ? [] : [`@${pragma}: nothing is known by this name, so it is ignored`];
  });
}

/** Whether something is an app's manifest, and no file of another tool that has the same name. */
export const isManifest = (raw: RawManifest): boolean => UNDERSTOOD.split(" ").some((pragma) => Object.hasOwn(raw, pragma));

export const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

export const isList = (value: unknown): value is readonly unknown[] => Array.isArray(value);

const listOf = (value: unknown): readonly unknown[] => (isList(value) ? value : [value]);

export const show = (value: unknown): string => JSON.stringify(value) ?? String(value);
