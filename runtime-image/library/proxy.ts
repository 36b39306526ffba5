// proxy.public(): a handler for GET / that answers with the files of public/, for apps that were written that way.
import path from "node:path";
import { isFields, type Fields } from "./fields.ts";
import { expressStyle } from "./http.ts";
import { interpolate } from "./interpolate.ts";
import { loadOwn } from "./load-own.ts";
import { siteFile } from "./site-file.ts";

type Render = (request: unknown, context: unknown) => unknown;

/**
 * Options as the originals had them: "spa" answers paths that no file has with index.html, "alias" maps paths to others, "ssr"
 * (a function, or a module's name) answers "/" instead of index.html. Where files come from, "bucket" and "plugins", is no option here.
 */
export function publicProxy(options?: unknown): (event: unknown, context?: unknown) => Promise<unknown> {
  const given = isFields(options) ? options : {};
  return async (event, context) => {
    const asked = pathOf(event);
    const target = aliasOf(given, asked);
    const render = given["ssr"] === undefined ? null : rendererOf(given["ssr"]);
    const isPage = target === "/" || target === "/index.html" || (given["spa"] === true && !path.posix.basename(target).includes("."));
    if (render !== null && isPage) return expressStyle((request: unknown) => render(request, context))(event);
    throw siteFile({ path: target, isSpa: given["spa"] === true });
  };
}

function pathOf(event: unknown): string {
  const asked = interpolate(event)["path"];
  return typeof asked === "string" && asked.startsWith("/") ? asked : "/";
}

function aliasOf(options: Fields, asked: string): string {
  const aliases = options["alias"];
  const target = isFields(aliases) && Object.hasOwn(aliases, asked) ? aliases[asked] : undefined;
  return typeof target !== "string" ? asked : target.startsWith("/") ? target : `/${target}`;
}

/** A module exports the function itself or calls it "render". Found from the function's folder. */
function rendererOf(ssr: unknown): Render {
  const loaded: unknown = typeof ssr === "string" ? loadOwn(ssr) : ssr;
  const candidates = isFields(loaded) ? [loaded["render"], loaded["handler"], loaded["default"]] : [loaded];
  const render = candidates.find((one) => typeof one === "function");
  if (render === undefined) throw new TypeError('"ssr" should be a function, or the name of a module that exports one');
  return render as Render; // A function, which is all that can be known of it.
}
