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
  readonly body: string;
}

export function errorAnswer(report: ErrorReport): ErrorAnswer {
  const { status } = ERRORS[report.code];
  const isPage = prefersHtml(report.accept);
  const body = isPage ? pageOf(report) : problemOf(report);
  const headers = [
    "content-type",
    isPage ? "text/html; charset=utf-8" : "application/problem+json",
    "cache-control",
    ANTI_CACHE,
    "x-request-id",
    report.requestId,
    "content-length",
    String(Buffer.byteLength(body)),
  ];
  if (status === 503) headers.push("retry-after", String(RETRY_AFTER_S));
  return { status, headers, body };
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
  let html = 0;
  let json = 0;
  for (const entry of lower.split(",")) {
    const [type = "", ...parameters] = entry.split(";").map((part) => part.trim());
    if (type === "text/html") html = Math.max(html, qualityOf(parameters));
    if (type === "application/json" || type === "application/problem+json") json = Math.max(json, qualityOf(parameters));
  }
  return html > 0 && html >= json;
}

function qualityOf(parameters: readonly string[]): number {
  const quality = parameters.find((parameter) => parameter.startsWith("q="));
  if (quality === undefined) return 1;
  const value = Number(quality.slice(2));
  return Number.isFinite(value) ? value : 0;
}
