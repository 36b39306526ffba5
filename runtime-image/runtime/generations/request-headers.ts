// Reading header lists into the plain objects that handlers know, without letting names like "__proto__" do harm.
import type { FlatHeaders } from "../../contract/envelope.ts";
import { setOwn } from "./request-parts.ts";

type Headers = Record<string, string>;

/** Lower-case names, repeats joined with ", " and those of cookie with "; ", as AWS does. Cookies are listed besides where asked. */
export function joinHeaders(flat: FlatHeaders, cookies: string[] | null): Headers {
  const headers: Headers = {};
  for (let index = 0; index + 1 < flat.length; index += 2) {
    // The loop stays within the list.
    const name = flat[index]!.toLowerCase();
    const value = flat[index + 1]!;
    if (name === "cookie" && cookies !== null) readCookies(value, cookies);
    if (!Object.hasOwn(headers, name)) setOwn(headers, name, value);
    else headers[name] = `${headers[name]}${name === "cookie" ? "; " : ", "}${value}`;
  }
  return headers;
}

function readCookies(header: string, cookies: string[]): void {
  for (const part of header.split(";")) {
    const cookie = part.trim();
    if (cookie !== "") cookies.push(cookie);
  }
}

export interface HeaderPair {
  readonly last: Headers;
  readonly every: Record<string, string[]>;
}

/**
 * The last value of each header, and all of them. A name is written as it was first sent, or in lower case, and is one name in
 * whatever case it comes again. Cookies that came in several headers are joined: the last of them alone would be half of the truth.
 */
export function splitHeaders(flat: FlatHeaders, options: { readonly lowerCase: boolean }): HeaderPair {
  const last: Headers = {};
  const every: Record<string, string[]> = {};
  const spellings = new Map<string, string>();
  for (let index = 0; index + 1 < flat.length; index += 2) {
    // The loop stays within the list.
    const sent = flat[index]!;
    const value = flat[index + 1]!;
    const lower = sent.toLowerCase();
    const name = spellings.get(lower);
    if (name === undefined) {
      const spelling = options.lowerCase ? lower : sent;
      spellings.set(lower, spelling);
      setOwn(last, spelling, value);
      setOwn(every, spelling, [value]);
    } else {
      last[name] = lower === "cookie" ? `${last[name]}; ${value}` : value;
      every[name]?.push(value);
    }
  }
  return { last, every };
}

export function withoutPort(host: string): string {
  const colon = host.lastIndexOf(":");
  const isPort = colon > host.lastIndexOf("]") && colon !== -1; // "[::1]:3000" has colons inside its brackets.
  return isPort ? host.slice(0, colon) : host;
}

export function firstLabel(domainName: string): string {
  const dot = domainName.indexOf(".");
  return dot === -1 || domainName.startsWith("[") ? domainName : domainName.slice(0, dot);
}
