// The body of a route's error, in the route's own language: JSON, a page (the function's own error.js where it has one), or text.
import { existsSync } from "node:fs";
import path from "node:path";
import type { Shorthand } from "./content-types.ts";
import { isProduction, pageOf, stackOf } from "./error-page.ts";
import { isFields, ownFields } from "./fields.ts";
import { loadOwn } from "./load-own.ts";
import { logError } from "./log.ts";

export function errorBody(error: Error, statusCode: number, kind: Shorthand): string {
  if (kind === "json") return jsonOf(error);
  if (kind === "html") return ownPage(error) ?? pageOf(statusCode, error);
  const text = isProduction() ? error.message : stackOf(error);
  // Inside a comment, so that a style sheet or a script with an error does nothing else.
  if (kind === "css" || kind === "js") return `/* ${text.replaceAll("*/", "* /")} */\n`;
  return kind === "xml" ? `<error>${text.replaceAll(/[&<>]/g, (character) => `&#${character.charCodeAt(0)};`)}</error>\n` : `${text}\n`;
}

/** Its own fields too, as the originals sent them; a stack never in production. */
function jsonOf(error: Error): string {
  const { name, message } = error;
  const stack = isProduction() ? undefined : stackOf(error);
  try {
    return JSON.stringify({ ...ownFields(error), name, message, stack });
  } catch {
    return JSON.stringify({ name, message, stack }); // A field of it knows itself, or is a bigint.
  }
}

/** "error.js" beside the handler exports a function from an error to a page. */
function ownPage(error: Error): string | null {
  if (!existsSync(path.join(process.cwd(), "error.js"))) return null;
  try {
    const loaded = loadOwn("./error.js");
    const render = isFields(loaded) && "default" in loaded ? loaded["default"] : loaded;
    if (typeof render !== "function") throw new TypeError("error.js should export a function that takes an error and returns a page");
    const page: unknown = Reflect.apply(render, undefined, [error]);
    if (typeof page !== "string") throw new TypeError("the function that error.js exports should return a text");
    return page;
  } catch (thrown) {
    logError(thrown); // A broken error page is no reason to show nothing.
    return null;
  }
}
