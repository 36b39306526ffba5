// Reads what every generation's request object has in its own place: headers, cookies, version.
import { isFields, type Fields } from "./fields.ts";

/** Payload version 2.0; the others are version 1 or older. */
export const isVersion2 = (event: Fields): boolean => event["version"] === "2.0";

/** By its lower-case name, whatever case the object has it in. */
export function headerOf(event: Fields, name: string): string | undefined {
  const headers = event["headers"];
  if (!isFields(headers)) return undefined;
  if (Object.hasOwn(headers, name)) return asText(headers[name]);
  const key = Object.keys(headers).find((one) => one.toLowerCase() === name);
  return key === undefined ? undefined : asText(headers[key]);
}

/** All cookies of a request, as one header has them. */
export function cookiesOf(event: Fields): string {
  const cookies = event["cookies"];
  if (isVersion2(event) && Array.isArray(cookies)) return cookies.join("; ");
  return headerOf(event, "cookie") ?? "";
}

const asText = (value: unknown): string | undefined => (typeof value === "string" ? value : undefined);
