// Whether static files answer below "/" too: where no function answers GET /.
import type { RouteMethod } from "../../runtime-image/contract/snapshot.ts";

// A param and a catch-all take "/" as well, with nothing in them.
const ROOT_PATH = /^\/(?::[^/]+|\*)?$/;

export const answersRoot = (routes: readonly { readonly method: RouteMethod; readonly path: string }[]): boolean =>
  !routes.some(({ method, path }) => (method === "GET" || method === "ANY") && ROOT_PATH.test(path));
