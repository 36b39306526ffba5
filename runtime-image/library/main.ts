// The library's entry: what the stubs of its packages in a build load through globalThis[Symbol.for("orchestrator:library")]().
export { data } from "./data.ts";
export { functions } from "./functions.ts";
