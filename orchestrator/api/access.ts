// Who may talk to the management API at all: our own addresses as Host, no page of another origin. And the token that lies in the home.
import { randomBytes } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { IncomingHttpHeaders, IncomingMessage } from "node:http";
import type { ErrorCode } from "../../runtime-image/contract/errors.ts";
import { writeFileAtomic } from "../processes/atomic-file.ts";

const TOKEN = /^[0-9a-f]{64}$/;

export const tokenFile = (home: string): string => join(home, "api-token");
export const newToken = (): string => randomBytes(32).toString("hex");

/** The token of this home, made at the first start. Only its owner can read the file. */
export async function ensureToken(home: string): Promise<{ readonly token: string; readonly isNew: boolean }> {
  const existing = await readToken(home);
  if (existing !== null) return { token: existing, isNew: false };
  const token = newToken();
  await writeFileAtomic(tokenFile(home), `${token}\n`, 0o600);
  return { token, isNew: true };
}

export async function readToken(home: string): Promise<string | null> {
  const text = await readFile(tokenFile(home), "utf8").catch(() => null);
  const token = text?.trim() ?? "";
  return TOKEN.test(token) ? token : null;
}

/** Null where the request may go on to show its token. */
export function refusalOf(headers: IncomingHttpHeaders, port: number): ErrorCode | null {
  // A page can be made to resolve its own name to 127.0.0.1; the Host that it sends still gives it away.
  if (!ownHosts(port).includes(headers.host?.toLowerCase() ?? "")) return "API_HOST_REFUSED";
  if (headers.origin !== undefined && !ownHosts(port).some((host) => headers.origin === `http://${host}`)) return "API_ORIGIN_REFUSED";
  return null;
}

const ownHosts = (port: number): string[] => [`localhost:${port}`, `127.0.0.1:${port}`, `[::1]:${port}`];

/** Whether a request is git's. */
export const isGit = ({ url = "" }: IncomingMessage): boolean => url.startsWith("/git/");

/** As git sends a token: the password of Basic authentication, whatever the user is called. */
export function passwordOf(headers: IncomingHttpHeaders): string | null {
  const [, encoded] = /^Basic ([A-Za-z0-9+/=]{1,1000})$/i.exec(headers.authorization ?? "") ?? [];
  if (encoded === undefined) return null;
  const [, password] = /^[^:]*:([0-9a-f]{64})$/i.exec(Buffer.from(encoded, "base64").toString("utf8")) ?? [];
  return password?.toLowerCase() ?? null;
}

/** Null where none of the right form is given. */
export const tokenOf = (headers: IncomingHttpHeaders): string | null =>
  /^Bearer ([0-9a-f]{64})$/i.exec(headers.authorization ?? "")?.[1]?.toLowerCase() ?? null;
