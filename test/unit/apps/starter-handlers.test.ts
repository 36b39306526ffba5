// The handlers that new routes begin with, loaded as an instance loads them: what they answer in each generation, and that they show no foreign markup.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { LIBRARY_STUBS } from "../../../orchestrator/builds/library-stubs.ts";
import type { AppGeneration } from "../../../orchestrator/apps/manifest.ts";
import { newRoute, type RouteKind } from "../../../orchestrator/apps/new-route.ts";
import { starterHandler } from "../../../orchestrator/apps/starter-handlers.ts";
import type { RequestHeader } from "../../../runtime-image/contract/envelope.ts";
import type { Generation, InstanceManifest } from "../../../runtime-image/contract/instance-manifest.ts";
import { data, functions } from "../../../runtime-image/library/main.ts";
import { adapterFor } from "../../../runtime-image/runtime/generations/adapters.ts";
import { loadHandler } from "../../../runtime-image/runtime/load-handler.ts";
import { layTestInstance, type TestInstance } from "../../support/library-instance.ts";
import { writeFiles } from "../../support/platform.ts";

const LIBRARY = Symbol.for("orchestrator:library");
let instance: TestInstance;
let folder = "";
let count = 0;

beforeAll(async () => {
  instance = layTestInstance();
  Object.assign(globalThis, { [LIBRARY]: () => ({ functions, data }) });
  folder = await mkdtemp(join(tmpdir(), "orchestrator-starters-"));
  await writeFiles(folder, Object.fromEntries(LIBRARY_STUBS.map(({ path, bytes }) => [path, Buffer.from(bytes)])));
});
afterAll(async () => {
  Reflect.deleteProperty(globalThis, LIBRARY);
  await rm(folder, { recursive: true });
});

interface Case {
  readonly route: string;
  readonly kind: RouteKind;
  readonly generation: AppGeneration;
  readonly isModule: boolean;
}

interface Sent {
  readonly params?: Readonly<Record<string, string>>;
  readonly query?: string;
  readonly body?: string;
}

async function answerOf(one: Case, { params, query = "", body = "" }: Sent = {}) {
  const route = newRoute(one);
  count += 1;
  const name = one.isModule ? "index.mjs" : "index.js";
  const text = starterHandler({ ...one, route, file: `src/${one.kind}/new/${name}`, namedBy: "it is listed in app.arc" });
  await writeFiles(folder, { [`new-${count}/${name}`]: text });
  const loaded = await loadHandler(join(folder, `new-${count}`));
  if (loaded.kind === "failed") throw new Error(loaded.stack);
  const generation: Generation = one.kind === "http" ? one.generation : one.kind;
  // Of the manifest, adapters read no more than this.
  const adapter = adapterFor({ generation, appId: "app", rawJson: false, bareQuery: false } as InstanceManifest);
  const header: RequestHeader = {
    v: 1,
    id: "r",
    method: route.method === "ANY" ? "PUT" : route.method,
    path: "/x",
    query,
    route: `${route.method} ${route.path}`,
    params: params ?? null,
    headers: ["content-type", "application/x-www-form-urlencoded"],
    sourceIp: "127.0.0.1",
    scheme: "http",
    httpVersion: "1.1",
    startEpochMs: 0,
    timeoutMs: 1_000,
  };
  const value: unknown = await instance.within({ headers: header.headers }, () =>
    loaded.handler(adapter.toEvent(header, Buffer.from(body)), {}, () => undefined),
  );
  const answer = adapter.toAnswer(value, header);
  const headers = Object.fromEntries(
    answer.headers.flatMap((name, index) => (index % 2 === 0 ? [[name.toLowerCase(), answer.headers[index + 1]]] : [])),
  ) as Record<string, string>;
  return { status: answer.status, headers, text: Buffer.from(answer.body).toString() };
}

const GENERATIONS: readonly AppGeneration[] = ["current", "legacy", "simple"];
const PAGES: readonly Case[] = [true, false].flatMap((isModule) => [
  ...GENERATIONS.map((generation): Case => ({ route: "GET /shop/:item", kind: "http", generation, isModule })),
  { route: "GET /shop/:item", kind: "html", generation: "current", isModule },
  { route: "POST /shop/:item", kind: "html", generation: "current", isModule },
]);
const DATA: readonly Case[] = [true, false].flatMap((isModule) => [
  ...["POST", "PUT", "PATCH", "DELETE", "OPTIONS", "ANY"].flatMap((method) =>
    GENERATIONS.map((generation): Case => ({ route: `${method} /shop/:item`, kind: "http", generation, isModule })),
  ),
  ...["GET", "POST", "DELETE"].map((method): Case => ({ route: `${method} /shop/:item`, kind: "json", generation: "current", isModule })),
]);

describe("a handler to begin with", () => {
  it.each(PAGES)("answers $route with a page ($kind, $generation, module: $isModule)", async (one) => {
    const { status, headers, text } = await answerOf(one, { params: { item: "<b>tea</b>" }, query: "a=%22%3C&b" });
    expect(status).toBe(200);
    expect(headers["content-type"]).toBe("text/html; charset=utf-8");
    expect(headers["cache-control"]).toContain("no-store");
    expect(text).toContain(`<h1>${one.route}</h1>`);
    expect(text).toContain(`<code>src/${one.kind}/new/index.${one.isModule ? "mjs" : "js"}</code>`);
    expect(text).toContain("<li>item: &#60;b&#62;tea&#60;/b&#62;</li><li>a: &#34;&#60;</li>");
    expect((await answerOf(one)).status).toBe(200);
  });

  it.each(DATA)("answers $route with JSON ($kind, $generation, module: $isModule)", async (one) => {
    const { status, headers, text } = await answerOf(one, { params: { item: "tea" }, query: "size=2", body: "name=Ada" });
    expect(status).toBe(200);
    expect(headers["content-type"]).toBe("application/json; charset=utf-8");
    expect(headers["cache-control"]).toContain("no-store");
    const said: unknown = JSON.parse(text);
    expect(said).toEqual({
      ok: true,
      route: one.route,
      file: `src/${one.kind}/new/index.${one.isModule ? "mjs" : "js"}`,
      sent: { item: "tea", size: "2" },
      bodyLength: expect.any(Number) as number,
    });
    expect((await answerOf(one)).status).toBe(200);
  });

  it("says in its first line what it answers and why", () => {
    const route = newRoute({ route: "post /a", kind: "json" });
    const text = starterHandler({
      route,
      generation: "current",
      isModule: false,
      file: "src/json/post-a/index.js",
      namedBy: "it is listed in app.arc",
    });
    expect(text).toBe(`// Answers POST /a; it is listed in app.arc.
const { json } = require("@architect/functions");

exports.handler = json.post((req, res) => {
  res({
    json: {
      ok: true,
      route: "POST /a",
      file: "src/json/post-a/index.js",
      sent: { ...req.params, ...req.query },
      bodyLength: JSON.stringify(req.body ?? null).length,
    },
  });
});
`);
  });
});
