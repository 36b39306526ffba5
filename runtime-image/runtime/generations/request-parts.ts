// Reading queries, forms and path parameters into plain objects without letting names like "__proto__" do harm.

export const ACCOUNT_ID = "000000000000"; // Handlers written for AWS expect twelve digits; no account stands behind them here.

/** Names and values in the order they were sent: "+" is a space, escapes are decoded, malformed ones stay as they are. */
export function parseQuery(query: string): [name: string, value: string][] {
  const pairs: [string, string][] = [];
  for (const part of query.split("&")) {
    if (part === "") continue;
    const equals = part.indexOf("=");
    if (equals === -1) pairs.push([decode(part), ""]);
    else pairs.push([decode(part.slice(0, equals)), decode(part.slice(equals + 1))]);
  }
  return pairs;
}

/** Plain assignment to "__proto__" would change the object's prototype and set nothing. */
export function setOwn<Value>(target: Record<string, Value>, name: string, value: Value): void {
  if (name === "__proto__") Object.defineProperty(target, name, { value, enumerable: true, configurable: true, writable: true });
  else target[name] = value;
}

/** The last value of each name. */
export function lastValues(pairs: readonly (readonly [name: string, value: string])[]): Record<string, string> {
  const values: Record<string, string> = {};
  for (const [name, value] of pairs) setOwn(values, name, value);
  return values;
}

/** All values of each name. */
export function everyValue(pairs: readonly (readonly [name: string, value: string])[]): Record<string, string[]> {
  const values: Record<string, string[]> = {};
  for (const [name, value] of pairs) {
    if (Object.hasOwn(values, name)) values[name]?.push(value);
    else setOwn(values, name, [value]);
  }
  return values;
}

/** A copy of a route's parameters that a handler may change; null where the route has none. */
export function ownParams(params: Readonly<Record<string, string>> | null): Record<string, string> | null {
  const names = params === null ? [] : Object.keys(params);
  if (params === null || names.length === 0) return null;
  const values: Record<string, string> = {};
  for (const name of names) setOwn(values, name, params[name] ?? "");
  return values;
}

function decode(text: string): string {
  const spaced = text.includes("+") ? text.replaceAll("+", " ") : text;
  if (!spaced.includes("%")) return spaced;
  try {
    return decodeURIComponent(spaced);
  } catch {
    return spaced.replace(/(?:%[0-9a-f]{2})+/gi, decodeOrKeep);
  }
}

function decodeOrKeep(escapes: string): string {
  try {
    return decodeURIComponent(escapes);
  } catch {
    return escapes;
  }
}
