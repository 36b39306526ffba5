// Reads the routes of a piece of a manifest, to find the place of one in it. Pure.
import type { FunctionKind } from "./app-source.ts";
import { type ManifestRoute, readRoutes } from "./manifest-routes.ts";
import { type ManifestFormat, parseManifestText } from "./manifest-text.ts";
import type { Route } from "./routes.ts";

/** A route and the pragma that it stands below. */
export interface KindOfRoute extends Route {
  readonly kind: FunctionKind;
}

/** A piece that cannot be read by itself has none. */
export function routesOfPiece(text: string, format: ManifestFormat): readonly ManifestRoute[] {
  try {
    return readRoutes(parseManifestText(text, format), { problems: [], warnings: [] });
  } catch {
    return [];
  }
}

export const isSameRoute = (one: KindOfRoute, other: KindOfRoute): boolean =>
  one.kind === other.kind && one.method === other.method && one.path === other.path;
