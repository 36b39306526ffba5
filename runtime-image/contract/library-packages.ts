// The packages that the runtime library answers to, and the names that each of them exports: what the stubs in a build pass on.

export interface LibraryPackage {
  readonly from: "functions" | "data"; // Which export of the library's entry stands behind it.
  readonly names: readonly string[];
}

const FUNCTIONS = [
  "http",
  "middleware",
  "json",
  "html",
  "css",
  "js",
  "text",
  "xml",
  "static",
  "proxy",
  "events",
  "queues",
  "scheduled",
  "tables",
  "services",
  "ws",
] as const;
const DATA = ["get", "set", "destroy", "count", "incr", "decr", "page"] as const;

export const LIBRARY_EXPORTS: Readonly<Record<string, LibraryPackage>> = {
  "@architect/functions": { from: "functions", names: FUNCTIONS },
  "@orchestrator/functions": { from: "functions", names: FUNCTIONS },
  "@begin/data": { from: "data", names: DATA },
  "@orchestrator/data": { from: "data", names: DATA },
};
