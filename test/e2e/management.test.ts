// The management of a running platform: its token, tokens with roles, the audit log, state changes, and that answers are what the document says.
import { rm } from "node:fs/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { readToken } from "../../orchestrator/api/access.ts";
import { type ApiClient, connectApi } from "../../orchestrator/api/client.ts";
import { type ApiParts, apiRoutes } from "../../orchestrator/api/routes.ts";
import { problemsIn } from "../../orchestrator/api/schema.ts";
import { type RunningPlatform, handler, makeApp, runCommand, startPlatform, writeFiles } from "../support/platform.ts";
import { until } from "../support/until.ts";

const INDEX = "src/http/get-index/index.js";

describe("managing a platform", () => {
  let app = "";
  let platform: RunningPlatform;
  let api: ApiClient;

  beforeAll(async () => {
    app = await makeApp({ "app.arc": "@app\nmanaged\n\n@http\nget /\n", [INDEX]: handler('console.log("seen"); return { body: "one" };') });
    platform = await startPlatform({ app, engine: "process" });
    api = await connectApi({ port: platform.ports.api, home: platform.home });
  });

  afterAll(async () => {
    await platform.stop();
    await rm(app, { recursive: true, force: true });
  });

  const orchestrator = async (args: readonly string[], env: Record<string, string> = {}) =>
    runCommand([...args, "--home", platform.home, "--api-port", `${platform.ports.api}`], { env });

  it("begins with a token that is shown once, and kept for commands", async () => {
    const shown = platform.events.filter((event) => event.event === "token");
    expect(shown).toMatchObject([{ token: await readToken(platform.home) }]);
  });

  it("needs a token with a role that is large enough", async () => {
    const made = await orchestrator(["token", "create", "looker", "--role", "read", "--json"]);
    const { token } = JSON.parse(made.stdout) as { token: string };
    const asLooker = { ORCHESTRATOR_API_TOKEN: token };
    expect((await orchestrator(["env", "ls"], asLooker)).exitCode).toBe(0);
    const refused = await orchestrator(["promote"], asLooker);
    expect([refused.exitCode, refused.stderr]).toEqual([1, expect.stringContaining("API_FORBIDDEN")]);
    expect((await orchestrator(["token", "ls"])).stdout).toMatch(/^looker +read +\d{4}-/m);
    expect((await orchestrator(["token", "rm", "looker"])).exitCode).toBe(0);
    expect((await orchestrator(["promote"], asLooker)).stderr).toContain("API_TOKEN_REFUSED");
    expect((await orchestrator(["token", "create", "Bad Name", "--role", "read"])).stderr).toContain("name: should be a name of up to 32");
  });

  it("tells of every change: to those who watch, and in the audit log", async () => {
    const watching = await api.download("/api/events");
    let heard = "";
    watching.setEncoding("utf8").on("data", (part: string) => (heard += part));
    await until(() => heard !== "", { timeoutMs: 5_000 });
    await writeFiles(app, { [INDEX]: handler('return { body: "two" };') });
    await until(() => heard.includes("event: deployed"), { timeoutMs: 30_000 });
    const promoted = await orchestrator(["promote", "--json"]);
    const { releaseId } = JSON.parse(promoted.stdout) as { releaseId: string };
    await until(() => heard.includes("event: promoted") && heard.includes(releaseId), { timeoutMs: 5_000 });
    watching.destroy();
    const audit = await orchestrator(["audit"]);
    expect(audit.stdout.split("\n")[1]).toMatch(/^\d{4}-\S+Z +home +POST \/api\/promote +done /);
  });

  it("answers what its document says", async () => {
    // Only handlers use the other parts, and none is called here.
    const routes = apiRoutes({} as ApiParts);
    const problems: string[] = [];
    const asked: string[] = [];
    for (const { method, path, params, query, answer } of routes) {
      if (method !== "GET" || params !== undefined || hasRequired(query)) continue;
      const complain = (value: unknown): void => {
        if ("schema" in answer) problems.push(...problemsIn(answer.schema, value, path));
      };
      if (answer.kind === "json") complain(await api.get(path));
      if (answer.kind === "lines") await api.lines(path, complain, new AbortController().signal);
      asked.push(path);
    }
    expect(problems).toEqual([]);
    expect(asked).toEqual(expect.arrayContaining(["/api/status", "/api/logs", "/api/tokens", "/api/audit", "/api/openapi.json"]));
  });
});

const hasRequired = (schema: { readonly required?: readonly string[] } | undefined): boolean => (schema?.required ?? []).length > 0;
