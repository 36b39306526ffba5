// Reading queries into plain objects without letting names like "__proto__" do harm.

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
export function setOwn(target: Record<string, string>, name: string, value: string): void {
  if (name === "__proto__") Object.defineProperty(target, name, { value, enumerable: true, configurable: true, writable: true });
  else target[name] = value;
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
