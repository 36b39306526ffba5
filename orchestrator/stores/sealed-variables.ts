// The environment variables in a backup: encrypted with a passphrase of the owner's, and bound to what the backup is of.
import assert from "node:assert/strict";
import { createCipheriv, createDecipheriv, randomBytes, scrypt } from "node:crypto";
import { PlatformError } from "../../runtime-image/contract/errors.ts";
import type { Environment } from "../../runtime-image/contract/instance-manifest.ts";
import { BACKUP_VARIABLES_BYTES_MAX } from "../../runtime-image/contract/limits.ts";
import { createTurn } from "../turn.ts";
import type { VariableValues } from "../variables/change.ts";

/** What the first line of a backup says about the variables that were set; nothing where there were none. */
export type BackupVariables =
  | { readonly kind: "left-out"; readonly count: number } // No passphrase was given.
  | SealedVariables;

export interface SealedVariables {
  readonly kind: "sealed";
  readonly count: number;
  readonly kdf: KeyDerivation;
  readonly cipher: typeof CIPHER;
  readonly nonce: string; // Base64, as are the following.
  readonly sealed: string; // What they are encrypted to, and the tag behind it.
}

interface KeyDerivation extends KeyCost {
  readonly name: "scrypt";
  readonly salt: string;
}

interface KeyCost {
  readonly costLog2: number;
  readonly blockSize: number;
  readonly parallelization: number;
}

/** What a backup is of. Variables of one backup cannot be moved into another. */
export interface BackupOrigin {
  readonly appName: string;
  readonly environment: Environment;
  readonly createdAt: string; // ISO 8601.
}

export interface Passphrased {
  readonly passphrase: string;
  readonly origin: BackupOrigin;
}

export interface VariableSeals {
  seal(values: VariableValues, by: Passphrased): Promise<SealedVariables>;
  /** Throws PASSPHRASE_WRONG also where they were altered, or belong to another backup: nobody can tell these apart. */
  open(sealed: SealedVariables, by: Passphrased): Promise<VariableValues>;
}

const CIPHER = "aes-256-gcm";
const KEY_BYTES = 32;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const SALT_BYTES = 16;
const SALT_BYTES_MAX = 64;
// 128 MB and about half a second for each guess, as OWASP recommends for scrypt.
const COST: KeyCost = { costLog2: 17, blockSize: 8, parallelization: 1 };
// What a file may ask for: no less than a guess should cost, and no more memory and time than a restore should take: 256 MB.
const COST_MIN: KeyCost = { costLog2: 14, blockSize: 8, parallelization: 1 };
const COST_MAX: KeyCost = { costLog2: 18, blockSize: 8, parallelization: 4 };
const SEPARATOR = "\0"; // No name and no value has it.

/** One key is derived at a time: the memory that it takes is not taken many times over. */
export function createVariableSeals(cost: KeyCost = COST): VariableSeals {
  const inTurn = createTurn();
  return {
    async seal(values, { passphrase, origin }) {
      const entries = Object.entries(values);
      assert(entries.length > 0, "a backup says nothing of variables where there are none");
      const plain = Buffer.from(entries.flat().join(SEPARATOR), "utf8");
      if (plain.length > BACKUP_VARIABLES_BYTES_MAX)
        throw new PlatformError("BACKUP_FAILED", {
          detail: `The environment variables have ${plain.length} bytes; a backup takes ${BACKUP_VARIABLES_BYTES_MAX}.`,
          remedy: "Make the backup without a passphrase, and so without them; or remove some.",
        });
      const kdf: KeyDerivation = { name: "scrypt", ...cost, salt: randomBytes(SALT_BYTES).toString("base64") };
      const nonce = randomBytes(NONCE_BYTES);
      const head = { kind: "sealed", count: entries.length, kdf, cipher: CIPHER, nonce: nonce.toString("base64") } as const;
      const key = await inTurn(async () => keyOf(passphrase, kdf));
      const cipher = createCipheriv(CIPHER, key, nonce, { authTagLength: TAG_BYTES }).setAAD(boundBytes(head, origin));
      return { ...head, sealed: Buffer.concat([cipher.update(plain), cipher.final(), cipher.getAuthTag()]).toString("base64") };
    },
    async open(sealed, { passphrase, origin }) {
      const key = await inTurn(async () => keyOf(passphrase, sealed.kdf));
      const bytes = Buffer.from(sealed.sealed, "base64");
      const decipher = createDecipheriv(CIPHER, key, Buffer.from(sealed.nonce, "base64"), { authTagLength: TAG_BYTES })
        .setAAD(boundBytes(sealed, origin))
        .setAuthTag(bytes.subarray(-TAG_BYTES));
      try {
        const plain = Buffer.concat([decipher.update(bytes.subarray(0, -TAG_BYTES)), decipher.final()]);
        return valuesIn(plain.toString("utf8"));
      } catch (cause) {
        throw new PlatformError(
          "PASSPHRASE_WRONG",
          {
            detail: "It is another one than the backup was made with, or the variables in it were altered.",
            remedy: "Give the one that it was made with, or none: then the variables stay as they are. Nothing was written.",
          },
          { cause },
        );
      }
    },
  };
}

/** Everything that the file says in clear and that opening depends on. */
const boundBytes = ({ count, kdf, cipher, nonce }: Omit<SealedVariables, "sealed">, origin: BackupOrigin): Buffer =>
  Buffer.from(
    JSON.stringify([
      "orchestrator backup variables v1",
      [origin.appName, origin.environment, origin.createdAt],
      [kdf.name, kdf.costLog2, kdf.blockSize, kdf.parallelization, kdf.salt],
      [cipher, nonce, count],
    ]),
  );

/** The same text typed on another keyboard may come in other code points: NFKC makes them one. */
async function keyOf(passphrase: string, { costLog2, blockSize, parallelization, salt }: KeyDerivation): Promise<Buffer> {
  const cost = 2 ** costLog2;
  const options = { cost, blockSize, parallelization, maxmem: 2 * 128 * blockSize * cost };
  return new Promise((done, fail) =>
    scrypt(Buffer.from(passphrase.normalize("NFKC")), Buffer.from(salt, "base64"), KEY_BYTES, options, (error, key) =>
      error === null ? done(key) : fail(error),
    ),
  );
}

function valuesIn(plain: string): VariableValues {
  const parts = plain === "" ? [] : plain.split(SEPARATOR);
  const names = parts.filter((_, index) => index % 2 === 0);
  return Object.fromEntries(names.map((name, index) => [name, parts[2 * index + 1] ?? ""]));
}

type Fields = Readonly<Record<string, unknown>>;
export type ReadVariables = { readonly variables?: BackupVariables } | { readonly problem: string };

/** Checks what a file says; `problem` goes on after "Of the file:". */
export function readVariables(value: unknown): ReadVariables {
  if (value === undefined) return {};
  const fields = fieldsOf(value);
  const { kind, count, cipher, nonce, sealed } = fields;
  if (!isWhole(count, 1, Number.MAX_SAFE_INTEGER)) return { problem: "it does not say how many environment variables it is about" };
  if (kind === "left-out") return { variables: { kind, count } };
  if (kind !== "sealed" || cipher !== CIPHER) return { problem: "its environment variables are encrypted in an unknown way" };
  const kdf = derivationIn(fieldsOf(fields["kdf"]));
  if (kdf === null) return { problem: "the key of its environment variables is derived in an unknown way, or at a cost that is not taken" };
  if (!isBase64(nonce, NONCE_BYTES, NONCE_BYTES) || !isBase64(sealed, TAG_BYTES, BACKUP_VARIABLES_BYTES_MAX + TAG_BYTES))
    return { problem: "its environment variables are not whole" };
  return { variables: { kind, count, kdf, cipher, nonce, sealed } };
}

function derivationIn({ name, costLog2, blockSize, parallelization, salt }: Fields): KeyDerivation | null {
  const isTaken =
    name === "scrypt" &&
    isWhole(costLog2, COST_MIN.costLog2, COST_MAX.costLog2) &&
    isWhole(blockSize, COST_MIN.blockSize, COST_MAX.blockSize) &&
    isWhole(parallelization, COST_MIN.parallelization, COST_MAX.parallelization) &&
    isBase64(salt, SALT_BYTES, SALT_BYTES_MAX);
  return isTaken ? { name, costLog2, blockSize, parallelization, salt } : null;
}

const fieldsOf = (value: unknown): Fields => (typeof value === "object" && value !== null ? { ...value } : {});

const isWhole = (value: unknown, least: number, most: number): value is number =>
  typeof value === "number" && Number.isSafeInteger(value) && value >= least && value <= most;

function isBase64(value: unknown, bytesMin: number, bytesMax: number): value is string {
  if (typeof value !== "string" || !/^[A-Za-z0-9+/]*={0,2}$/.test(value)) return false;
  const byteCount = Buffer.byteLength(value, "base64");
  return byteCount >= bytesMin && byteCount <= bytesMax;
}
