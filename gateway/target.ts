// Reads a request target: an origin-form path, or the absolute form that RFC 9112 3.2.2 makes every server accept.

export type Target =
  | { readonly kind: "path"; readonly path: string; readonly query: string; readonly host: string | null } // The host only where the target names one.
  | { readonly kind: "malformed" };

const MALFORMED: Target = { kind: "malformed" };

export function readTarget(target: string): Target {
  if (!hasOnlyTargetCharacters(target)) return MALFORMED;
  if (target.charCodeAt(0) === 0x2f) return readPath(target, null);
  return readAbsolute(target);
}

function readPath(pathAndQuery: string, host: string | null): Target {
  const mark = pathAndQuery.indexOf("?");
  const path = mark === -1 ? pathAndQuery : pathAndQuery.slice(0, mark);
  if (path.includes("%") && decodeOrNull(path) === null) return MALFORMED;
  return { kind: "path", path, query: mark === -1 ? "" : pathAndQuery.slice(mark + 1), host };
}

// "http://name/path": the name in the target stands above the Host header.
function readAbsolute(target: string): Target {
  const scheme = target.slice(0, 8).toLowerCase();
  const start = scheme.startsWith("http://") ? 7 : scheme === "https://" ? 8 : -1;
  if (start === -1) return MALFORMED;
  let end = start;
  while (end < target.length && target[end] !== "/" && target[end] !== "?") end++;
  if (end === start) return MALFORMED;
  const rest = target.slice(end);
  return readPath(rest.startsWith("/") ? rest : `/${rest}`, target.slice(start, end));
}

// RFC 3986: a target is printable ASCII, and a fragment is never sent.
function hasOnlyTargetCharacters(target: string): boolean {
  for (let index = 0; index < target.length; index++) {
    const code = target.charCodeAt(index);
    if (code <= 0x20 || code >= 0x7f || code === 0x23) return false;
  }
  return target.length > 0;
}

/** Null where the percent-encoding is broken or is no UTF-8. */
export function decodeOrNull(text: string): string | null {
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}
