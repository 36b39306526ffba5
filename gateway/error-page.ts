// What a visitor sees of an error: RFC 9457 problem details, or a small page where a browser asks.
import { STATUS_CODES } from "node:http";
import { ERRORS, type ErrorCode } from "../runtime-image/contract/errors.ts";
import { RETRY_AFTER_S } from "../runtime-image/contract/limits.ts";

export const ANTI_CACHE = "no-cache, no-store, must-revalidate, max-age=0, s-maxage=0";

export interface ErrorReport {
  readonly code: ErrorCode;
  readonly requestId: string;
  readonly detail: string | null; // Only what the visitor may see.
  readonly accept: string; // The Accept header, or "".
}

export interface ErrorAnswer {
  readonly status: number;
  readonly headers: readonly string[]; // Names and values in turn, content-length included.
  readonly body: string | Uint8Array;
}

const HTML = "text/html; charset=utf-8";

export function errorAnswer(report: ErrorReport): ErrorAnswer & { readonly body: string } {
  const { status } = ERRORS[report.code];
  const isPage = prefersHtml(report.accept);
  const body = isPage ? pageOf(report) : problemOf(report);
  return { status, headers: headersOf({ status, requestId: report.requestId }, body, isPage ? HTML : "application/problem+json"), body };
}

/** What an app brings in public/ for its visitors: 404.html and 500.html. */
export interface ErrorPages {
  readonly notFound: Uint8Array | null;
  readonly failed: Uint8Array | null;
}

export const NO_PAGES: ErrorPages = { notFound: null, failed: null };

/** The app's own page for an error, with the error's true status; null where it has none. */
export function ownErrorAnswer(pages: ErrorPages, { code, requestId }: Pick<ErrorReport, "code" | "requestId">): ErrorAnswer | null {
  const { status } = ERRORS[code];
  const body = code === "ROUTE_NOT_FOUND" ? pages.notFound : status >= 500 ? pages.failed : null;
  return body === null ? null : { status, headers: headersOf({ status, requestId }, body, HTML), body };
}

function headersOf({ status, requestId }: { status: number; requestId: string }, body: string | Uint8Array, type: string): string[] {
  const headers = ["content-type", type, "cache-control", ANTI_CACHE, "x-request-id", requestId];
  headers.push("content-length", String(Buffer.byteLength(body)));
  if (status === 503) headers.push("retry-after", String(RETRY_AFTER_S));
  return headers;
}

function problemOf({ code, requestId, detail }: ErrorReport): string {
  const { status, message } = ERRORS[code];
  return JSON.stringify({
    type: `urn:orchestrator:error:${code}`,
    title: message,
    status,
    ...(detail === null ? {} : { detail }),
    code,
    requestId,
  });
}

function pageOf({ code, requestId, detail }: ErrorReport): string {
  const { status, message } = ERRORS[code];
  const title = `${status} ${STATUS_CODES[status] ?? ""}`.trim();
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>${title}</title>
<style>body{font:16px/1.5 system-ui,sans-serif;max-width:40rem;margin:15vh auto;padding:0 1rem;color-scheme:light dark}pre{white-space:pre-wrap}small{opacity:.7}</style>
<h1>${title}</h1>
<p>${escapeHtml(message)}</p>
${detail === null ? "" : `<pre>${escapeHtml(detail)}</pre>\n`}<small>${code} · ${escapeHtml(requestId)}</small>
</html>
`;
}

const escapeHtml = (text: string): string =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");

/** A page only for who names text/html and likes no JSON better: a client that takes anything gets JSON. */
export function prefersHtml(accept: string): boolean {
  const lower = accept.toLowerCase();
  if (!lower.includes("text/html")) return false;
  const html = weightOf(lower, (type) => type === "text/html") ?? 0;
  const json = weightOf(lower, (type) => type === "application/json" || type === "application/problem+json") ?? 0;
  return html > 0 && html >= json;
}

/** Whether a page may be the answer at all: a client that takes anything takes pages too. */
export function acceptsHtml(accept: string): boolean {
  const lower = accept.toLowerCase();
  const named = weightOf(lower, (type) => type === "text/html");
  return (
    lower.trim() === "" || (named ?? weightOf(lower, (type) => type === "text/*") ?? weightOf(lower, (type) => type === "*/*") ?? 0) > 0
  );
}

/** The highest weight of the types that are meant; null where none is named. */
function weightOf(lowerAccept: string, isMeant: (type: string) => boolean): number | null {
  let weight: number | null = null;
  for (const entry of lowerAccept.split(",")) {
    const [type = "", ...parameters] = entry.split(";").map((part) => part.trim());
    if (isMeant(type)) weight = Math.max(weight ?? 0, qualityOf(parameters));
  }
  return weight;
}

function qualityOf(parameters: readonly string[]): number {
  const quality = parameters.find((parameter) => parameter.startsWith("q="));
  if (quality === undefined) return 1;
  const value = Number(quality.slice(2));
  return Number.isFinite(value) ? value : 0;
}
