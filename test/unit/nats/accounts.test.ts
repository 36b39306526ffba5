// What accounts and users may do, read back from their tokens.
import { decode, type Account, type Operator, type User } from "@nats-io/jwt";
import { describe, expect, it } from "vitest";
import { claimsOf, createBrokerSigner, saysTheSame, type Credentials } from "../../../orchestrator/nats/accounts.ts";
import { externalServerConfig, managedServerConfig } from "../../../orchestrator/nats/config.ts";
import { deriveBrokerKeys } from "../../../orchestrator/nats/keys.ts";
import { fingerprint, type Launch } from "../../../orchestrator/nats/launch.ts";
import { brokerHome } from "../../../orchestrator/nats/broker-home.ts";

const keys = deriveBrokerKeys(Buffer.alloc(32, 7));
const signer = createBrokerSigner(keys);
const userIn = ({ jwt }: Credentials) => decode<User>(jwt);

describe("accounts", () => {
  it("are signed by the operator, who names the system account", async () => {
    const trust = await signer.trust();
    const operator = decode<Operator>(trust.operatorJwt);
    expect(operator.nats.system_account).toBe(trust.system.publicKey);
    for (const { jwt } of [...trust.preloaded, await signer.appAccount("a1", "staging")])
      expect(decode<Account>(jwt).iss).toBe(keys.operator.publicKey);
  });

  it("of apps share nothing, have two buckets of 1 GB together, and are bounded", async () => {
    const { nats } = decode<Account>((await signer.appAccount("a1", "staging")).jwt);
    expect(nats).toMatchObject({
      limits: {
        imports: 0,
        exports: 0,
        leaf: 0,
        mem_storage: 0,
        disk_storage: 1_000_000_000,
        streams: 2,
        consumer: 16,
        disallow_bearer: true,
      },
    });
    for (const bound of [nats.limits?.conn, nats.limits?.subs, nats.limits?.payload]) expect(bound).toBeGreaterThan(0);
    expect(nats.imports ?? nats.exports ?? []).toEqual([]);
  });

  it("are those of their app and environment", async () => {
    const publicKeys = await Promise.all([
      signer.appAccount("a1", "staging"),
      signer.appAccount("a1", "production"),
      signer.appAccount("a2", "staging"),
    ]);
    expect(new Set(publicKeys.map(({ publicKey }) => publicKey)).size).toBe(3);
  });
});

describe("users", () => {
  it("each have a key of their own, need its signature, and belong to the account that signed them", async () => {
    const [first, second] = [
      await signer.instanceCredentials("a1", "staging", "i1"),
      await signer.instanceCredentials("a1", "staging", "i1"),
    ];
    expect(first.seed).not.toBe(second.seed);
    expect(userIn(first).iss).toBe((await signer.appAccount("a1", "staging")).publicKey);
    expect(userIn(first).nats).toMatchObject({ bearer_token: false, allowed_connection_types: ["STANDARD"] });
  });

  it("always name what they may publish and hear, for an empty list would allow everything", async () => {
    const all = await Promise.all([
      signer.systemCredentials(),
      signer.orchestratorPlatformCredentials(),
      signer.orchestratorGatewaysCredentials("staging"),
      signer.gatewayPlatformCredentials("production"),
      signer.gatewayCredentials("a1", "staging"),
      signer.controlCredentials("a1", "staging"),
      signer.instanceCredentials("a1", "staging", "i1"),
    ]);
    for (const { nats } of all.map(userIn)) {
      expect(nats.pub?.allow?.length).toBeGreaterThan(0);
      expect(nats.sub?.allow?.length).toBeGreaterThan(0);
      expect([...(nats.pub?.allow ?? []), ...(nats.sub?.allow ?? [])]).not.toContain(">");
      expect(nats.subs).toBeGreaterThan(0);
      expect(nats.payload).toBeGreaterThan(0);
    }
  });

  it("that are instances have one branch in, one branch out, and the two buckets", async () => {
    const { nats } = userIn(await signer.instanceCredentials("a1", "staging", "i1"));
    const bucket = (name: string) => [
      `$KV.${name}.>`,
      `$JS.API.DIRECT.GET.KV_${name}`,
      `$JS.API.STREAM.INFO.KV_${name}`,
      `$JS.API.STREAM.MSG.DELETE.KV_${name}`,
    ];
    const [documents = "", ...questions] = bucket("data");
    const publish = ["o.i1.>", ...bucket("sessions"), documents, "$KV.expiry.>", ...questions];
    expect([nats.pub, nats.sub, nats.resp]).toEqual([{ allow: publish }, { allow: ["i.i1.>"] }, undefined]);
  });
});

describe("tokens", () => {
  it("say the same whenever they were signed, and something else for another account", async () => {
    const { jwt } = await signer.appAccount("a1", "staging");
    const [head = "", claims = "", signature = ""] = jwt.split(".");
    const later = JSON.stringify({ ...(JSON.parse(Buffer.from(claims, "base64url").toString()) as object), iat: 1, jti: "x" });
    expect(saysTheSame(jwt, `${head}.${Buffer.from(later).toString("base64url")}.${signature}`)).toBe(true);
    expect(saysTheSame(jwt, (await signer.appAccount("a1", "production")).jwt)).toBe(false);
  });

  it("are nothing where they cannot be read", () => {
    for (const text of ["", "x", "a.b.c", `a.${Buffer.from("1").toString("base64url")}.c`]) {
      expect(claimsOf(text)).toBeNull();
      expect(saysTheSame(text, text)).toBe(false);
    }
  });
});

describe("the server's configuration", () => {
  const place = { host: "127.0.0.1", port: 4222, serverName: "n", accountsFolder: '/a "b"/accounts', storeFolder: "/s", logFile: "/l" };

  it("listens on one address, watches nothing over HTTP, writes through, and holds no secret", async () => {
    const text = managedServerConfig(place, await signer.trust());
    expect(text).toContain('listen: "127.0.0.1:4222"');
    expect(text).toContain("sync_interval: always");
    expect(text).toContain('dir: "/a \\"b\\"/accounts"');
    expect(text).not.toMatch(/\bhttps?(_port)?:/);
    for (const { seed } of [keys.operator, keys.system, keys.platform, keys.app("a1", "staging")]) expect(text).not.toContain(seed);
    expect(managedServerConfig({ ...place, host: "::1" }, await signer.trust())).toContain('listen: "[::1]:4222"');
  });

  it("leaves to an owner how the server listens and logs", async () => {
    const text = externalServerConfig(await signer.trust(), place);
    expect(text).not.toMatch(/^(listen|host|port|log_file|server_name)\b/m);
    for (const needed of ["operator:", "system_account:", "resolver_preload:", "jetstream:", "max_payload: 8000000", "type: full"])
      expect(text).toContain(needed);
  });

  it("is the same one after another signing, and another one for another port, address or program", async () => {
    const launch = async (): Promise<Launch> => ({
      place: brokerHome("/h"),
      trust: await signer.trust(),
      host: "127.0.0.1",
      binary: { path: "/n", version: "2.10.27" },
      signer,
    });
    const same = fingerprint(await launch(), 1);
    expect(fingerprint(await launch(), 1)).toBe(same);
    expect(fingerprint(await launch(), 2)).not.toBe(same);
    expect(fingerprint({ ...(await launch()), host: "::1" }, 1)).not.toBe(same);
    expect(fingerprint({ ...(await launch()), binary: { path: "/n", version: "2.11.0" } }, 1)).not.toBe(same);
  });
});
