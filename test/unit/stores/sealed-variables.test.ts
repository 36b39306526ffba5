// Environment variables in a backup: who can open them, what they are bound to, and which files are refused before any work is done.
import { describe, expect, it } from "vitest";
import {
  type BackupOrigin,
  type SealedVariables,
  createVariableSeals,
  readVariables,
} from "../../../orchestrator/stores/sealed-variables.ts";

const ORIGIN: BackupOrigin = { appName: "shop", environment: "production", createdAt: "2026-01-01T00:00:00.000Z" };
const VALUES = { API_KEY: 'hunter2 =\n\t"é" \u{1f600}', EMPTY: "", LARGE: "ä".repeat(2_048) };
const PASSPHRASE = "correct horse battery";
const seals = createVariableSeals({ costLog2: 14, blockSize: 8, parallelization: 1 }); // Quick; a test looks at what it costs otherwise.
const throughFile = (sealed: SealedVariables): SealedVariables => {
  const read = readVariables(JSON.parse(JSON.stringify(sealed)));
  if (!("variables" in read) || read.variables?.kind !== "sealed") throw new Error(`not read: ${JSON.stringify(read)}`);
  return read.variables;
};

describe("the variables in a backup", () => {
  it("come back with the passphrase as they were, and show nothing without it", async () => {
    const sealed = await seals.seal(VALUES, { passphrase: PASSPHRASE, origin: ORIGIN });
    expect(await seals.open(throughFile(sealed), { passphrase: PASSPHRASE, origin: ORIGIN })).toEqual(VALUES);
    const text = JSON.stringify(sealed) + Buffer.from(sealed.sealed, "base64").toString("latin1");
    for (const secret of ["hunter2", "API_KEY", PASSPHRASE]) expect(text).not.toContain(secret);
    expect(sealed.count).toBe(3);
  });

  it("are encrypted to something else each time", async () => {
    const [one, other] = await Promise.all([1, 2].map(async () => seals.seal({ A: "1" }, { passphrase: PASSPHRASE, origin: ORIGIN })));
    expect(one?.kdf.salt).not.toBe(other?.kdf.salt);
    expect(one?.nonce).not.toBe(other?.nonce);
    expect(one?.sealed).not.toBe(other?.sealed);
  });

  it("open to the same passphrase typed on another keyboard, and to no other", async () => {
    const sealed = await seals.seal(VALUES, { passphrase: "caf\u00e9 au lait", origin: ORIGIN });
    expect(await seals.open(sealed, { passphrase: "cafe\u0301 au lait", origin: ORIGIN })).toEqual(VALUES);
    const refusal = await seals.open(sealed, { passphrase: "cafe au lait", origin: ORIGIN }).catch((error: unknown) => error);
    expect(refusal).toMatchObject({ code: "PASSPHRASE_WRONG" });
    expect(JSON.stringify(refusal)).not.toContain("cafe au lait");
  });

  it("stay closed in another backup, and wherever anything of them was altered", async () => {
    const sealed = await seals.seal(VALUES, { passphrase: PASSPHRASE, origin: ORIGIN });
    const bytes = Buffer.from(sealed.sealed, "base64");
    bytes[3] = (bytes[3] ?? 0) ^ 1;
    const altered: readonly (readonly [SealedVariables, BackupOrigin])[] = [
      [sealed, { ...ORIGIN, appName: "blog" }],
      [sealed, { ...ORIGIN, environment: "staging" }],
      [sealed, { ...ORIGIN, createdAt: "2026-01-02T00:00:00.000Z" }],
      [{ ...sealed, count: 2 }, ORIGIN],
      [{ ...sealed, sealed: bytes.toString("base64") }, ORIGIN],
      [{ ...sealed, nonce: Buffer.alloc(12).toString("base64") }, ORIGIN],
      [{ ...sealed, kdf: { ...sealed.kdf, costLog2: 15 } }, ORIGIN],
    ];
    for (const [one, origin] of altered)
      await expect(seals.open(one, { passphrase: PASSPHRASE, origin })).rejects.toMatchObject({ code: "PASSPHRASE_WRONG" });
  });

  it("cost whoever guesses 128 MB and a while for each guess", async () => {
    const { kdf } = await createVariableSeals().seal({ A: "1" }, { passphrase: PASSPHRASE, origin: ORIGIN });
    expect(128 * kdf.blockSize * 2 ** kdf.costLog2).toBe(134_217_728);
  });

  it("are refused where there are more of them than a line of the file takes", async () => {
    const many = Object.fromEntries(Array.from({ length: 256 }, (_, index) => [`A${index}${"X".repeat(10_000)}`, "x"]));
    await expect(seals.seal(many, { passphrase: PASSPHRASE, origin: ORIGIN })).rejects.toMatchObject({ code: "BACKUP_FAILED" });
  });
});

describe("what a file says of variables", () => {
  const kdf = { name: "scrypt", costLog2: 17, blockSize: 8, parallelization: 1, salt: Buffer.alloc(16).toString("base64") };
  const whole = { kind: "sealed", count: 1, kdf, cipher: "aes-256-gcm", nonce: "A".repeat(16), sealed: "A".repeat(40) };

  it("is taken where it is whole, or where there is nothing", () => {
    expect(readVariables(undefined)).toEqual({});
    expect(readVariables({ kind: "left-out", count: 3 })).toEqual({ variables: { kind: "left-out", count: 3 } });
    expect(readVariables({ ...whole, more: 1 })).toEqual({ variables: whole });
  });

  it.each([
    ["a key that would take a gigabyte", { kdf: { ...kdf, costLog2: 20 } }, /cost that is not taken/],
    ["a key that would take for ever", { kdf: { ...kdf, parallelization: 1_000 } }, /cost that is not taken/],
    ["a key that costs nothing", { kdf: { ...kdf, costLog2: 1 } }, /cost that is not taken/],
    ["a cost that is no number", { kdf: { ...kdf, costLog2: "17" } }, /cost that is not taken/],
    ["another derivation", { kdf: { ...kdf, name: "pbkdf2" } }, /unknown way/],
    ["no derivation", { kdf: null }, /unknown way/],
    ["a salt that is none", { kdf: { ...kdf, salt: "AA==" } }, /unknown way/],
    ["another cipher", { cipher: "rot13" }, /encrypted in an unknown way/],
    ["another kind", { kind: "open" }, /encrypted in an unknown way/],
    ["a short nonce", { nonce: "AAAA" }, /not whole/],
    ["nothing that is encrypted", { sealed: "" }, /not whole/],
    ["what is no base64", { sealed: `${"A".repeat(40)}\n` }, /not whole/],
    ["no count", { count: 0 }, /how many/],
  ])("is refused with %s", (_what, part, problem) => {
    const read = readVariables({ ...whole, ...part });
    expect("problem" in read ? read.problem : "").toMatch(problem);
  });

  it.each([null, 1, "x", []])("is refused where it is %j", (value) => {
    expect(readVariables(value)).toHaveProperty("problem");
  });
});
