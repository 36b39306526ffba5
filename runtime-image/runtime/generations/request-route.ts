// How events name the route that a request came on: with braces around its parameters.

const ROUTES_KEPT_MAX = 64; // A function has one route; this bounds what a confused sender could make us keep.

/** "GET /shop/:item" reads "GET /shop/{item}", and a catch-all "{proxy+}". */
export function toRouteKey(route: string): string {
  const pathStart = route.indexOf("/");
  if (pathStart === -1) return route;
  const segments = route.slice(pathStart).split("/");
  const braced = segments.map((segment) => (segment === "*" ? "{proxy+}" : segment.startsWith(":") ? `{${segment.slice(1)}}` : segment));
  return route.slice(0, pathStart) + braced.join("/");
}

/** The path of a route key. What no function captured came on the "greedy root" of apps of that time. */
export function toResource(route: string): string {
  const routeKey = toRouteKey(route);
  const pathStart = routeKey.indexOf("/");
  return pathStart === -1 ? "/{proxy+}" : routeKey.slice(pathStart);
}

/** Remembers what it worked out: nearly every request of an instance has the same route. */
export function remembering(toText: (route: string) => string): (route: string) => string {
  const texts = new Map<string, string>();
  return (route) => {
    const known = texts.get(route);
    if (known !== undefined) return known;
    const text = toText(route);
    if (texts.size < ROUTES_KEPT_MAX) texts.set(route, text);
    return text;
  };
}
