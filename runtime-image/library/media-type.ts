// The parts of a content-type header.

export interface MediaType {
  readonly name: string; // "text/plain", lower case.
  readonly charset: string | null;
  readonly boundary: string | null;
}

const PARAMETER = /;\s*([\w-]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^;\s]*))/g; // RFC 9110 5.6.6: a token or a quoted text.

export function readMediaType(header: string): MediaType {
  const name = (header.split(";", 1)[0] ?? "").trim().toLowerCase();
  const parameters = new Map<string, string>();
  for (const [, key = "", quoted, token = ""] of header.matchAll(PARAMETER))
    parameters.set(key.toLowerCase(), quoted === undefined ? token : quoted.replaceAll(/\\(.)/g, "$1"));
  return { name, charset: parameters.get("charset") ?? null, boundary: parameters.get("boundary") ?? null };
}

/** Text in the charset that the sender names; one that nobody knows is read as UTF-8. */
export function decodeText(bytes: Uint8Array, charset: string | null): string {
  try {
    return new TextDecoder(charset ?? "utf-8").decode(bytes);
  } catch {
    return new TextDecoder().decode(bytes);
  }
}
