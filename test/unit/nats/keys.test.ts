// The secret that the broker trusts: made once, never made anew, and its keys are spelled as the broker's libraries read them.
import { fromPublic, fromSeed } from "@nats-io/jwt";
import fc from "fast-check";
import { chmod, mkdir, mkdtemp, readFile, readdir, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { deriveBrokerKeys, keyFilePath, loadBrokerKeys, parseKeyFile } from "../../../orchestrator/nats/keys.ts";
import { createNkey, type NkeyKind } from "../../../orchestrator/nats/nkey.ts";

let home: string;
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), "orchestrator-keys-"));
});
afterEach(() => rm(home, { recursive: true, force: true }));

describe("the key file", () => {
  it("is made once, and the same keys come from it ever after", async () => {
    const first = await loadBrokerKeys(home);
    const second = await loadBrokerKeys(home);
    expect(second.operator.seed).toBe(first.operator.seed);
    expect(second.app("a1", "staging").seed).toBe(first.app("a1", "staging").seed);
  });

  it("is made only once when several ask at the same time", async () => {
    const keys = await Promise.all(Array.from({ length: 8 }, () => loadBrokerKeys(home)));
    expect(new Set(keys.map(({ operator }) => operator.publicKey)).size).toBe(1);
    expect(await readdir(join(home, "keys"))).toEqual(["broker.json"]);
  });

  it("is readable by its owner alone, also after it came back from a backup with open modes", async () => {
    await loadBrokerKeys(home);
    await chmod(join(home, "keys"), 0o755);
    await chmod(keyFilePath(home), 0o644);
    await loadBrokerKeys(home);
    expect((await stat(join(home, "keys"))).mode & 0o777).toBe(0o700);
    expect((await stat(keyFilePath(home))).mode & 0o777).toBe(0o600);
  });

  it("is refused by name when it is damaged, and left as it is", async () => {
    await loadBrokerKeys(home);
    const text = await readFile(keyFilePath(home), "utf8");
    for (const damaged of [
      "",
      "{}",
      text.slice(0, -20),
      text.replace(/"secret":"./, '"secret":"x'),
      text.replace(/"secret":"../, (found) => found.slice(0, -1) + (found.endsWith("0") ? "1" : "0")),
    ]) {
      await writeFile(keyFilePath(home), damaged);
      const failure = await loadBrokerKeys(home).catch((error: unknown) => error);
      expect(failure).toMatchObject({ code: "HOME_UNUSABLE" });
      expect(String(failure)).toContain(keyFilePath(home));
      expect(await readFile(keyFilePath(home), "utf8")).toBe(damaged);
    }
  });

  it("is not made anew where a broker already has accounts", async () => {
    await mkdir(join(home, "broker", "accounts"), { recursive: true });
    await loadBrokerKeys(home); // An empty folder is no broker.
    await rm(keyFilePath(home));
    await writeFile(join(home, "broker", "accounts", "A.jwt"), "");
    await expect(loadBrokerKeys(home)).rejects.toMatchObject({ code: "HOME_UNUSABLE" });
    expect(await readdir(join(home, "keys"))).toEqual([]);
  });

  it("is one that only this platform could have written", () => {
    expect(parseKeyFile('{"v":1,"secret":"00","check":"00"}')).toBeNull();
    expect(parseKeyFile('{"v":2}')).toBeNull();
    expect(parseKeyFile("null")).toBeNull();
  });
});

describe("keys", () => {
  it("differ for every account, environment and home", () => {
    const [here, there] = [deriveBrokerKeys(Buffer.alloc(32, 1)), deriveBrokerKeys(Buffer.alloc(32, 2))];
    const all = [here, there].flatMap((keys) => [
      keys.operator,
      keys.system,
      keys.platform,
      keys.gateways.staging,
      keys.gateways.production,
      keys.app("a1", "staging"),
      keys.app("a1", "production"),
      keys.app("a2", "staging"),
      keys.app("system", "staging"),
    ]);
    expect(new Set(all.map(({ publicKey }) => publicKey)).size).toBe(all.length);
  });

  it("are read by the broker's own library as the same keys, and their signatures hold", () => {
    const kinds: NkeyKind[] = ["operator", "account", "user"];
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 32, maxLength: 32 }), fc.constantFrom(...kinds), fc.uint8Array(), (secret, kind, message) => {
        const key = createNkey(kind, secret);
        expect(key.publicKey.charAt(0)).toBe(kind.charAt(0).toUpperCase());
        expect(fromSeed(new TextEncoder().encode(key.seed)).getPublicKey()).toBe(key.publicKey);
        expect(fromPublic(key.publicKey).verify(message, key.sign(message))).toBe(true);
      }),
      { numRuns: 30 },
    );
  });

  it("need 32 bytes", () => {
    expect(() => createNkey("user", new Uint8Array(31))).toThrow(RangeError);
  });
});
