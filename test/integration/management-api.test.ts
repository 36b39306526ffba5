// Who may talk to the management API, and what it answers to everyone else.
import { mkdtemp, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ensureToken } from "../../orchestrator/api/access.ts";
import { connectApi } from "../../orchestrator/api/client.ts";
import { type Api, startApi } from "../../orchestrator/api/server.ts";
import { freePort, send } from "../support/platform.ts";

describe("the management API", () => {
  let home = "";
  let port = 0;
  let token = "";
  let api: Api;

  beforeAll(async () => {
    home = await mkdtemp(join(tmpdir(), "orchestrator-api-"));
    port = await freePort();
    token = await ensureToken(home);
    const routes = [
      { method: "GET", path: "/api/echo", answer: { kind: "json", handle: async (query: URLSearchParams) => Object.fromEntries(query) } },
      { method: "POST", path: "/api/fail", answer: { kind: "json", handle: async () => Promise.reject(new Error("a secret detail")) } },
    ] as const;
    api = await startApi(routes, { port, token, home, onTrouble: () => undefined });
  });

  afterAll(async () => {
    await api.close();
    await rm(home, { recursive: true });
  });

  const withToken = (): Record<string, string> => ({ authorization: `Bearer ${token}`, host: `localhost:${port}` });

  it("answers who has the token", async () => {
    const answer = await send(port, "/api/echo?a=1", { headers: withToken() });
    expect([answer.status, answer.text]).toEqual([200, '{"a":"1"}\n']);
  });

  it("keeps the token in a file that only its owner can read, and keeps it over restarts", async () => {
    expect((await stat(join(home, "api-token"))).mode & 0o777).toBe(0o600);
    expect(await ensureToken(home)).toBe(token);
  });

  it.each([
    ["no token", { authorization: "" }, 401, "API_TOKEN_REFUSED"],
    ["a wrong token", { authorization: `Bearer ${"0".repeat(64)}` }, 401, "API_TOKEN_REFUSED"],
    ["a foreign Host, as a page that rebinds its name would send", { host: "evil.example" }, 403, "API_HOST_REFUSED"],
    ["the Host of another port", { host: "localhost:1" }, 403, "API_HOST_REFUSED"],
    ["a foreign Origin", { origin: "http://evil.example" }, 403, "API_ORIGIN_REFUSED"],
    ["an opaque Origin", { origin: "null" }, 403, "API_ORIGIN_REFUSED"],
  ])("refuses %s", async (_what, headers, status, code) => {
    const answer = await send(port, "/api/echo", { headers: { ...withToken(), ...headers } });
    expect(answer.status).toBe(status);
    expect(JSON.parse(answer.text)).toMatchObject({ code });
  });

  it("sends no CORS header, so that no page of another origin can read an answer", async () => {
    const answer = await send(port, "/api/echo", { method: "OPTIONS", headers: { ...withToken(), origin: "http://evil.example" } });
    expect(answer.status).toBe(403);
    expect(answer.headers["access-control-allow-origin"]).toBeUndefined();
  });

  it("says INTERNAL and no more when something of ours fails", async () => {
    const answer = await send(port, "/api/fail", { method: "POST", headers: withToken() });
    expect(answer.status).toBe(500);
    expect(answer.text).not.toContain("secret");
  });

  it("names what it does not have", async () => {
    const answer = await send(port, "/api/nothing", { headers: withToken() });
    expect(JSON.parse(answer.text)).toMatchObject({ status: 404, code: "API_NOT_FOUND", detail: "GET /api/nothing" });
  });

  it("can be talked to by a command that knows only the port", async () => {
    const client = await connectApi({ port, home: null });
    expect(await client.get("/api/echo?b=2")).toEqual({ b: "2" });
  });

  it("is on loopback alone", async () => {
    const { networkInterfaces } = await import("node:os");
    const outside = Object.values(networkInterfaces())
      .flatMap((list) => list ?? [])
      .filter((address) => address.family === "IPv4" && !address.internal);
    for (const { address } of outside) await expect(fetch(`http://${address}:${port}/`)).rejects.toThrow("fetch failed");
  });
});
