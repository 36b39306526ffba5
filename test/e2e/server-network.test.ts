// A platform on a server that visitors reach over the network: on addresses of the machine, and through nginx as its page says.
import { execFile } from "node:child_process";
import { once } from "node:events";
import { request } from "node:http";
import { request as secureRequest } from "node:https";
import { rm } from "node:fs/promises";
import { networkInterfaces, tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import { hostForSuite } from "../support/hosting-rig.ts";
import { processesOf } from "../support/leftovers.ts";
import { loadDuring } from "../support/load.ts";
import { type OwnNginx, nginxPath, startNginx } from "../support/own-nginx.ts";
import { CHECKOUT, handler, runCommand } from "../support/platform.ts";
import { startUpstream, type Upstream } from "../support/test-upstream.ts";

const app = (code: string): Record<string, string> => ({
  "app.arc": "@app\nshop\n\n@http\nget /\n",
  "src/http/get-index/index.js": handler(code),
});

describe("gateways that listen on addresses of the network", () => {
  const rig = hostForSuite({ engine: "docker", flags: ["--listen", "0.0.0.0"] });
  const ownAddress = (): string => {
    const found = Object.values(networkInterfaces())
      .flatMap((addresses) => addresses ?? [])
      .find(({ family, internal }) => family === "IPv4" && !internal);
    if (found === undefined) throw new Error("this machine has no address but loopback's");
    return found.address;
  };
  const statusAt = async (host: string, port: number): Promise<number | string> =>
    new Promise((done) => {
      request({ host, port, headers: { host: "shop.localhost" }, timeout: 5_000 })
        .once("response", (response) => done(response.resume().statusCode ?? 0))
        .once("error", (cause: NodeJS.ErrnoException) => done(cause.code ?? cause.message))
        .end();
    });

  it("are reached there by visitors, and by no function of any app; the management API is on loopback alone", async () => {
    const tries = `const tried = {};
      for (const url of (request.queryStringParameters?.urls ?? "").split(" ").filter(Boolean))
        tried[url] = await fetch(url, { signal: AbortSignal.timeout(1_000) }).then((answer) => answer.status, () => "refused");
      return tried;`;
    await rig.json("app", "create", "shop");
    await rig.ok("deploy", await rig.folder(app(tries)), "--app", "shop");
    const { staging, production, api } = rig.platform.ports;
    expect(await statusAt(ownAddress(), staging)).toBe(200);
    expect(await statusAt("127.0.0.1", staging)).toBe(200);
    expect(await statusAt(ownAddress(), api)).toBe("ECONNREFUSED");
    const urls = [staging, production].map((port) => `http://${ownAddress()}:${port}/`);
    const { text } = await rig.visit("staging", "shop", `/?urls=${encodeURIComponent(urls.join(" "))}`);
    expect(JSON.parse(text)).toEqual(Object.fromEntries(urls.map((url) => [url, "refused"])));
  });

  it("are refused where the machine has no such address, before anything is started", async () => {
    const home = join(tmpdir(), `orchestrator-home-none-${process.pid}`);
    const { exitCode, stderr } = await runCommand(["serve", "--home", home, "--listen", "203.0.113.9", "--api-port", "1"]);
    expect(exitCode).toBe(2);
    expect(stderr).toContain("--listen: this machine has no address 203.0.113.9");
    expect(await processesOf(home)).toEqual([]);
    await rm(home, { recursive: true, force: true });
  });
});

const PRODUCTION = "shop.example.org";
const STAGING = "staging.shop.example.org";
const API = "orchestrator.example.org";

// It is no part of what ./setup brings; test/unit holds its configuration against the page all the same.
describe.each([nginxPath()].filter((path) => path !== null))(
  "a platform behind %s, which is told what the page on operating says",
  (nginxProgram) => {
    const rig = hostForSuite({ engine: "process", flags: ["--trust-proxy", "127.0.0.1"] });
    let upstream: Upstream;
    let nginx: OwnNginx;
    let folder = "";

    beforeAll(async () => {
      upstream = await startUpstream({ "*": (_request, response) => response.end("proxied") });
      const { staging, production, api } = rig.platform.ports;
      nginx = await startNginx(nginxProgram, join(CHECKOUT, "docs/operating/nginx.conf"), { 3333: staging, 3334: production, 3330: api });
      await rig.json("app", "create", "shop");
      await rig.json("app", "domain", "add", "shop", PRODUCTION, "--environment", "production");
      await rig.json("app", "domain", "add", "shop", STAGING, "--environment", "staging");
      folder = await rig.folder({
        "app.arc": `@app\nshop\n\n@http\nget /whence\npost /size\n\n@proxy\nstaging ${upstream.url}\nproduction ${upstream.url}\n`,
        "src/http/get-whence/index.js": handler(`const { headers, requestContext } = request;
          return { ip: requestContext.http.sourceIp, scheme: headers["x-forwarded-proto"], host: headers.host, stage: process.env.NODE_ENV };`),
        "src/http/post-size/index.js": handler('return { size: Buffer.from(request.body, "base64").length };'),
      });
      await rig.ok("deploy", folder, "--app", "shop", "--promote");
    });
    afterAll(async () => {
      await nginx.close();
      await upstream.close();
    });

    const ask = async (host: string, path: string, body?: Buffer): Promise<{ status: number; text: string }> => {
      const outgoing = secureRequest({
        host: "127.0.0.1",
        port: nginx.httpsPort,
        servername: host,
        path,
        method: body === undefined ? "GET" : "POST",
        headers: { host, "x-forwarded-for": "203.0.113.7" }, // Which nobody is to believe.
        rejectUnauthorized: false,
        timeout: 20_000,
      });
      outgoing.end(body);
      const [response] = (await once(outgoing, "response")) as [NodeJS.ReadableStream & { statusCode: number }]; // What http emits.
      let text = "";
      for await (const part of response.setEncoding("utf8")) text += String(part);
      return { status: response.statusCode, text };
    };

    it("tells functions who asks, and by which scheme and host; each name leads to its environment", async () => {
      for (const [host, stage] of [
        [PRODUCTION, "production"],
        [STAGING, "staging"],
      ] as const)
        expect(JSON.parse((await ask(host, "/whence")).text)).toEqual({ ip: "127.0.0.1", scheme: "https", host, stage });
    });

    it("sends visitors without TLS to where there is", async () => {
      const outgoing = request({ host: "127.0.0.1", port: nginx.httpPort, path: "/whence?x=1", headers: { host: PRODUCTION } }).end();
      const [response] = (await once(outgoing, "response")) as [{ statusCode: number; headers: Record<string, string> }]; // What http emits.
      expect([response.statusCode, response.headers["location"]]).toEqual([308, `https://${PRODUCTION}/whence?x=1`]);
    });

    it("takes bodies up to the platform's limit, and larger ones are refused in the platform's words", async () => {
      expect(JSON.parse((await ask(PRODUCTION, "/size", Buffer.alloc(6_000_000))).text)).toEqual({ size: 6_000_000 });
      const refused = await ask(PRODUCTION, "/size", Buffer.alloc(6_000_001));
      expect([refused.status, refused.text]).toEqual([413, expect.stringContaining("BODY_TOO_LARGE")]);
    });

    it("carries WebSockets to the upstream of the app", async () => {
      const url = `wss://127.0.0.1:${nginx.httpsPort}/ws`;
      const webSocket = new WebSocket(url, { headers: { host: PRODUCTION }, rejectUnauthorized: false });
      await once(webSocket, "open");
      webSocket.send("hello");
      const [data] = (await once(webSocket, "message", { signal: AbortSignal.timeout(5_000) })) as [Buffer]; // What ws emits by default.
      expect(data.toString()).toBe("hello");
      webSocket.close();
      await once(webSocket, "close");
    });

    it("loses no request while a gateway is replaced", async () => {
      const load = { port: nginx.httpsPort, isSecure: true, host: PRODUCTION, path: "/whence", connectionCount: 8, intervalMs: 10 };
      const { failures, answeredCount } = await loadDuring(load, async () => void (await rig.json("gateway", "restart", "production")));
      expect(failures).toEqual([]);
      expect(answeredCount).toBeGreaterThan(20);
    });

    it("takes pushes for the management API, which shows them as they run", async () => {
      const { token } = await rig.json("token", "create", "laptop", "--role", "deploy");
      const git = async (...args: readonly string[]): Promise<string> => {
        const settings = ["http.sslVerify=false", `http.extraHeader=Host: ${API}`, "user.name=Ann", "user.email=ann@example.org"];
        const env = { PATH: process.env["PATH"] ?? "", HOME: folder, GIT_CONFIG_NOSYSTEM: "1", GIT_TERMINAL_PROMPT: "0" };
        const all = [...settings.flatMap((setting) => ["-c", setting]), ...args];
        const { stdout, stderr } = await promisify(execFile)("git", all, { cwd: folder, env, timeout: 30_000 });
        return `${stdout}${stderr}`;
      };
      await git("init", "--quiet");
      await git("add", "--all");
      await git("commit", "--quiet", "--message", "Pushed through nginx");
      const shown = await git(
        "push",
        "--force",
        `https://x:${String(token)}@127.0.0.1:${nginx.httpsPort}/git/shop.git`,
        "HEAD:refs/heads/main",
      );
      expect(shown).toContain("staging runs release");
    });
  },
);
