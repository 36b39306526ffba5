// Turns an error into an answer: its status, and a page that shows message and stack outside production only.
import { bridge } from "./bridge.ts";
import { ANTI_CACHE } from "./content-types.ts";
import { ownFields } from "./fields.ts";
import { logError } from "./log.ts";
import { ownStack, PLATFORM_FOLDER } from "./own-stack.ts";

export const isProduction = (): boolean => bridge().environment === "production";

/** The first of status, code and statusCode that is an HTTP status; node's codes, such as "ENOENT", are none. */
export function statusOf(error: Error): number {
  const fields = ownFields(error);
  const given = [fields["status"], fields["code"], fields["statusCode"]].map(Number);
  return given.find((status) => Number.isInteger(status) && status >= 300 && status <= 599) ?? 500;
}

/** The fields of an answer. An error of the function's own making is told to its owner; one that says "not found" is no news. */
export function errorPage(error: Error): { statusCode: number; headers: Record<string, string>; body: string } {
  const statusCode = statusOf(error);
  if (statusCode >= 500) logError(error);
  return {
    statusCode,
    headers: { "content-type": "text/html; charset=utf8", "cache-control": ANTI_CACHE },
    body: pageOf(statusCode, error),
  };
}

export function pageOf(statusCode: number, error: Error): string {
  const { STATUS_CODES } = process.getBuiltinModule("node:http"); // Loaded for errors only: it is large.
  const title = `${statusCode} ${STATUS_CODES[statusCode] ?? "Error"}`;
  const details = isProduction() ? "" : `<p>${escapeHtml(error.message)}</p><pre>${escapeHtml(stackOf(error))}</pre>`;
  return `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${escapeHtml(title)}</title>
<style>body{font:16px/1.5 system-ui,sans-serif;margin:10vh auto;max-width:44rem;padding:0 1rem}pre{overflow:auto}</style></head>
<body><h1>${escapeHtml(title)}</h1>${details}</body>
</html>
`;
}

/** The working directory is the function's folder. */
export const stackOf = (error: Error): string => ownStack(error.stack ?? error.message, { own: process.cwd(), platform: PLATFORM_FOLDER });

const escapeHtml = (text: string): string => text.replaceAll(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);

/** Anything may be thrown; what is no Error becomes one. */
export const asError = (thrown: unknown): Error => (thrown instanceof Error ? thrown : new Error(String(thrown)));
