// Plays every example of docs/library.md, through the payload of its generation and back.
import { readFileSync } from "node:fs";
import { beforeAll, describe, expect, it, vi } from "vitest";
import { LIBRARY_EXPORTS } from "../../../runtime-image/contract/library-packages.ts";
import type { RequestHeader } from "../../../runtime-image/contract/envelope.ts";
import type { InstanceManifest } from "../../../runtime-image/contract/instance-manifest.ts";
import { data, functions } from "../../../runtime-image/library/main.ts";
import { adapterFor } from "../../../runtime-image/runtime/generations/adapters.ts";
import { findHandler } from "../../../runtime-image/runtime/load-handler.ts";
import { layTestInstance, type TestInstance } from "../../support/library-instance.ts";
import { readExamples, type Example, type Exchange } from "../../support/library-page.ts";

const page = readFileSync("docs/library.md", "utf8");
const examples = readExamples(page);
const visitor = { cookie: "", lastBody: "" };
type Handler = (event: unknown, context: unknown) => unknown;
let instance: TestInstance;

beforeAll(() => {
  instance = layTestInstance();
  vi.spyOn(console, "error").mockImplementation(() => undefined);
});

describe("docs/library.md", () => {
  it.each(Object.keys(functions))("describes %s", (name) => {
    const headings = page.split("\n").filter((line) => line.startsWith("## "));
    expect(headings.filter((heading) => new RegExp(`\\b${name}\\b`).test(heading))).not.toEqual([]);
  });

  it("has examples", () => {
    expect(examples.length).toBeGreaterThan(15);
  });

  it.each(examples.map((example, index) => [example.heading, index, example] as const))(
    "says what happens: %s, example %i",
    async (_heading, _index, example) => {
      const handler = load(example.code);
      for (const exchange of example.exchanges) {
        const { given, said } = await play(example, handler, exchange);
        expect(given).toEqual(said);
      }
    },
  );
});

interface Outcome {
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly body: string;
}

/** What came of an exchange, and what its page says comes of it: of the headers, those that the page names. */
async function play({ generation }: Example, handler: Handler, { request, answer }: Exchange): Promise<{ given: Outcome; said: unknown }> {
  const body = Buffer.from(request.body.replace("{the body before}", encodeURIComponent(visitor.lastBody)));
  const header = headerOf(request);
  // Of the manifest, adapters read no more than this.
  const adapter = adapterFor({ generation, appId: "app", rawJson: false, bareQuery: false } as InstanceManifest);
  const value = await instance.within({ headers: header.headers }, () => handler(adapter.toEvent(header, body), {}));
  const given = adapter.toAnswer(value, header);
  const headers = pairs(given.headers);
  const cookie = headers.get("set-cookie");
  if (cookie?.startsWith("_idx=") === true) visitor.cookie = cookie.split(";", 1)[0] ?? "";
  visitor.lastBody = Buffer.from(given.body).toString();
  const named = [...answer.headers.keys()];
  return {
    given: { status: given.status, headers: Object.fromEntries(named.map((name) => [name, headers.get(name)])), body: visitor.lastBody },
    said: {
      status: answer.status,
      headers: Object.fromEntries([...answer.headers].map(([name, expected]) => [name, matching(expected)])),
      body: answer.body === null ? "" : matching(answer.body),
    },
  };
}

function headerOf({ method, target, headers }: Exchange["request"]): RequestHeader {
  const [path = "", query = ""] = target.split("?");
  const id = path.startsWith("/things/") ? path.slice("/things/".length) : null;
  return {
    v: 1,
    id: "r",
    method,
    path,
    query,
    route: id === null ? `${method} ${path}` : `${method} /things/:id`,
    params: id === null ? null : { id },
    headers: visitor.cookie === "" ? headers : [...headers, "cookie", visitor.cookie],
    sourceIp: "127.0.0.1",
    scheme: "http",
    httpVersion: "1.1",
    startEpochMs: 0,
    timeoutMs: 1_000,
  };
}

const pairs = (flat: readonly string[]): Map<string, string> =>
  new Map(flat.flatMap((name, index): [string, string][] => (index % 2 === 0 ? [[name.toLowerCase(), flat[index + 1] ?? ""]] : [])));

/** "…" stands for anything. */
function matching(expected: string): unknown {
  const pattern = expected.split("…").map((part) => part.replaceAll(/[\\^$.*+?()[\]{}|]/g, "\\$&"));
  return expected.includes("…") ? expect.stringMatching(new RegExp(`^${pattern.join("[\\s\\S]*")}`)) : expected;
}

/** The examples import nothing but the library; those in module syntax are brought to the older one. */
function load(code: string): Handler {
  const older = code
    .replaceAll(/^import (\{.*\}) from (".*");$/gm, "const $1 = require($2);")
    .replaceAll(/^export const (\w+) =/gm, "exports.$1 =");
  const exports = {};
  // oxlint-disable-next-line typescript/no-implied-eval -- Running what our own page shows is the point.
  new Function("exports", "require", older)(exports, (name: string) => {
    const known = LIBRARY_EXPORTS[name];
    if (known === undefined) throw new Error(`${name} is no package of the library`);
    return { functions, data }[known.from];
  });
  const found = findHandler(exports, "the example");
  if (found.kind === "failed") throw new Error(found.message);
  return (event, context) => found.handler(event, context, () => undefined);
}
