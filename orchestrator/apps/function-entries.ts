// The files that a function's handler may be in, those that win over others first.

export const SCRIPT_ENTRIES: readonly string[] = ["index.mjs", "index.cjs", "index.js"];
export const TYPED_ENTRIES: readonly string[] = ["index.ts", "index.mts", "index.cts"];
