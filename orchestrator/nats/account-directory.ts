// Hands accounts to the broker's resolver, which keeps them on its disk.
import { PlatformError } from "../../runtime-image/contract/errors.ts";
import { BROKER_REQUEST_TIMEOUT_MS } from "../../runtime-image/contract/limits.ts";
import { saysTheSame, type SignedAccount } from "./accounts.ts";
import type { BrokerConnection, Received } from "./connection.ts";

/** What the broker knows under a public key: a token, or "" for an account it never got. Null where its resolver keeps none at all. */
export function lookUpAccount(system: BrokerConnection, publicKey: string): Promise<string | null> {
  return system.ask({ subject: `$SYS.REQ.ACCOUNT.${publicKey}.CLAIMS.LOOKUP`, timeoutMs: BROKER_REQUEST_TIMEOUT_MS, read: textOf });
}

/** Does nothing where the broker has the very same claims. */
export async function ensureAccount(system: BrokerConnection, account: SignedAccount): Promise<void> {
  const known = await lookUpAccount(system, account.publicKey);
  if (known !== null && saysTheSame(known, account.jwt)) return;
  const answer = await system.ask({
    subject: "$SYS.REQ.CLAIMS.UPDATE",
    bytes: Buffer.from(account.jwt),
    timeoutMs: BROKER_REQUEST_TIMEOUT_MS,
    read: textOf,
  });
  const refusal = refusalIn(answer);
  if (refusal !== null)
    throw new PlatformError("NATS_REFUSED", {
      detail: `The broker did not take the account ${account.name}: ${refusal}.`,
      remedy: 'Its resolver has to be of type "full"; "orchestrator nats config" prints what is needed.',
    });
}

/** Null for an answer that says 200. */
export function refusalIn(answer: string | null): string | null {
  if (answer === null) return "nothing answers";
  let value: unknown;
  try {
    value = JSON.parse(answer);
  } catch {
    return "its answer is not JSON";
  }
  const { data, error } = (value ?? {}) as { data?: { code?: unknown }; error?: { description?: unknown } }; // Looked at with care below.
  if (data?.code === 200) return null;
  return typeof error?.description === "string" ? error.description : "its answer says neither yes nor no";
}

const textOf = (message: Received): string => Buffer.from(message.bytes).toString("utf8");
