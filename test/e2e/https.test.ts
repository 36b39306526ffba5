// Gateways with a certificate of their own: HTTPS for visitors, a renewal without a break, and files that cannot be used.
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { get } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TLSSocket } from "node:tls";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { CHECKOUT, type RunningPlatform, freePort, runCommand, startPlatform } from "../support/platform.ts";
import { OTHER_TEST_CERTIFICATE, OTHER_TEST_KEY, TEST_CERTIFICATE, TEST_KEY } from "../support/test-certificate.ts";
import { until } from "../support/until.ts";

describe("a platform with a certificate", () => {
  let folder = "";
  let platform: RunningPlatform;
  const files = () => ({ cert: join(folder, "cert.pem"), key: join(folder, "key.pem") });
  const flags = () => ["--no-watch", "--tls-cert", files().cert, "--tls-key", files().key];

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "orchestrator-tls-"));
    await writeFile(files().cert, TEST_CERTIFICATE);
    await writeFile(files().key, TEST_KEY);
    platform = await startPlatform({ app: join(CHECKOUT, "examples/hello"), engine: "process", flags: flags() });
  });

  afterAll(async () => {
    await platform.stop();
    await rm(folder, { recursive: true, force: true });
  });

  const visit = async (): Promise<{ readonly status: number; readonly fingerprint: string }> =>
    new Promise((done, fail) => {
      const ca = [TEST_CERTIFICATE, OTHER_TEST_CERTIFICATE];
      get({ host: "127.0.0.1", port: platform.ports.staging, ca, agent: false, timeout: 10_000 }, (response) => {
        const { fingerprint256 } = (response.socket as TLSSocket).getPeerCertificate(); // A request by https has such a socket.
        response.resume().once("end", () => done({ status: response.statusCode ?? 0, fingerprint: fingerprint256 }));
      }).once("error", fail);
    });

  it("answers over HTTPS, and says so", async () => {
    expect((await visit()).status).toBe(200);
    expect(platform.events.find(({ event }) => event === "ready")).toMatchObject({
      staging: `https://localhost:${platform.ports.staging}`,
    });
    await expect(platform.get("staging", "/")).rejects.toThrow(/socket hang up|ECONNRESET|Parse Error/); // What speaks plain HTTP gets nothing.
  });

  it("serves a renewed certificate without being started again", async () => {
    const before = await visit();
    await writeFile(files().key, OTHER_TEST_KEY);
    await writeFile(files().cert, OTHER_TEST_CERTIFICATE);
    await until(async () => (await visit()).fingerprint !== before.fingerprint, { timeoutMs: 60_000 });
    expect((await visit()).status).toBe(200);
  });

  it("does not start with files that cannot be used, and names them", async () => {
    const broken = await runCommand([
      "up",
      join(CHECKOUT, "examples/hello"),
      "--engine",
      "process",
      "--home",
      join(folder, "home"),
      "--staging-port",
      `${await freePort()}`,
      "--production-port",
      `${await freePort()}`,
      "--api-port",
      `${await freePort()}`,
      "--tls-cert",
      join(folder, "nothing.pem"),
      "--tls-key",
      files().key,
    ]);
    expect(broken.exitCode).not.toBe(0);
    expect(broken.stderr).toContain("nothing.pem");
    const half = await runCommand(["up", "--tls-key", files().key]);
    expect([half.exitCode, half.stderr]).toEqual([2, expect.stringContaining("--tls-cert and --tls-key: should be given together")]);
  });
});
