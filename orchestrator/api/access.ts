// Who may talk to the management API: a token from the home, our own addresses as Host, no page of another origin. Pure but for the token file.
import { randomBytes, timingSafeEqual } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { IncomingHttpHeaders } from "node:http";
import type { ErrorCode } from "../../runtime-image/contract/errors.ts";

const TOKEN = /^[0-9a-f]{64}$/;

export const tokenFile = (home: string): string => join(home, "api-token");

/** The token of this home, made at the first start. Only its owner can read the file. */
export async function ensureToken(home: string): Promise<string> {
  const existing = await readToken(home);
  if (existing !== null) return existing;
  const token = randomBytes(32).toString("hex");
  await writeFile(tokenFile(home), `${token}\n`, { mode: 0o600 });
  return token;
}

export async function readToken(home: string): Promise<string | null> {
  const text = await readFile(tokenFile(home), "utf8").catch(() => null);
  const token = text?.trim() ?? "";
  return TOKEN.test(token) ? token : null;
}

/** Null where the request may go on. */
export function refusal(headers: IncomingHttpHeaders, settings: { readonly token: string; readonly port: number }): ErrorCode | null {
  // A page can be made to resolve its own name to 127.0.0.1; the Host that it sends still gives it away.
  if (!ownHosts(settings.port).includes(headers.host?.toLowerCase() ?? "")) return "API_HOST_REFUSED";
  if (headers.origin !== undefined && !ownHosts(settings.port).some((host) => headers.origin === `http://${host}`))
    return "API_ORIGIN_REFUSED";
  const given = /^Bearer ([0-9a-f]{64})$/.exec(headers.authorization ?? "")?.[1] ?? "0".repeat(64);
  return timingSafeEqual(Buffer.from(given), Buffer.from(settings.token)) ? null : "API_TOKEN_REFUSED";
}

const ownHosts = (port: number): string[] => [`localhost:${port}`, `127.0.0.1:${port}`, `[::1]:${port}`];
