// Keeps cookies as a browser does, for one host: what is set is sent from then on, what has expired is forgotten.
import type { IncomingHttpHeaders } from "node:http";

export class CookieJar {
  readonly #cookies = new Map<string, string>();

  take(answer: { readonly headers: IncomingHttpHeaders }): void {
    for (const line of answer.headers["set-cookie"] ?? []) {
      const cookie = parseSetCookie(line);
      if (isExpired(cookie)) this.#cookies.delete(cookie.name);
      else this.#cookies.set(cookie.name, cookie.value);
    }
  }

  /** The value of a cookie header. */
  get header(): string {
    return [...this.#cookies].map(([name, value]) => `${name}=${value}`).join("; ");
  }
}

export interface SetCookie {
  readonly name: string;
  readonly value: string;
  readonly attributes: ReadonlyMap<string, string>; // By lower-case name; those without a value have "".
}

export function parseSetCookie(line: string): SetCookie {
  const [pair = "", ...rest] = line.split(";").map((part) => part.trim());
  const [name, value] = halves(pair);
  return { name, value, attributes: new Map(rest.map(halves).map(([key, text]) => [key.toLowerCase(), text])) };
}

// RFC 6265 5.3: Max-Age stands above Expires.
function isExpired({ attributes }: SetCookie): boolean {
  const maxAge = attributes.get("max-age");
  return maxAge === undefined ? Date.parse(attributes.get("expires") ?? "") <= Date.now() : Number(maxAge) <= 0;
}

function halves(text: string): [string, string] {
  const at = text.indexOf("=");
  return at === -1 ? [text, ""] : [text.slice(0, at), text.slice(at + 1)];
}
