// Looking for one name in a list of names and values in turn, whatever case it is written in.
import type { FlatHeaders } from "../../contract/envelope.ts";

export function hasHeader(headers: FlatHeaders, lowerCaseName: string): boolean {
  for (let index = 0; index < headers.length; index += 2) {
    const name = headers[index];
    if (name !== undefined && name.length === lowerCaseName.length && name.toLowerCase() === lowerCaseName) return true;
  }
  return false;
}

/** The first value; "" where there is none. */
export function headerOf(headers: FlatHeaders, lowerCaseName: string): string {
  for (let index = 0; index < headers.length; index += 2) {
    const name = headers[index];
    if (name?.length === lowerCaseName.length && name.toLowerCase() === lowerCaseName) return headers[index + 1] ?? "";
  }
  return "";
}
