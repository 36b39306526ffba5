// Sessions and documents under many writers at once, in two instances of the real platform: nothing torn, nothing lost, nothing old.
import { rm } from "node:fs/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parseSetCookie } from "../support/cookie-jar.ts";
import { type Answer, ENGINE_NAMES, type RunningPlatform, makeApp, startPlatform } from "../support/platform.ts";

const HANDLER = `
const { http } = require("@orchestrator/functions");
const data = require("@orchestrator/data");
const work = {
  set: (value) => data.set(value),
  get: (value) => data.get(value),
  incr: (value) => data.incr(value),
  writeSession: async (value) => ({ cookie: await http.session.write(value) }),
  readSession: (value, request) => http.session.read(request),
};
exports.handler = async (request) => {
  const { act, value } = http.helpers.bodyParser(request);
  return { pid: process.pid, result: await work[act](value, request) };
};
`;

const PLACES = ["/one", "/two"] as const;
const WRITER_COUNT = 50;
const PART_COUNT = 500;

interface Whole {
  readonly writer: number;
  readonly parts: readonly number[];
}

const wholeOf = (writer: number): Whole => ({ writer, parts: Array.from({ length: PART_COUNT }, () => writer) });

function expectWhole(value: unknown): number {
  const { writer, parts } = value as Whole; // The next line fails for anything else.
  expect(parts).toEqual(wholeOf(writer).parts);
  return writer;
}

describe.each(ENGINE_NAMES)("many writers in two instances on engine %s", (engine) => {
  let platform: RunningPlatform;
  let app = "";
  let cookie = "";

  beforeAll(async () => {
    app = await makeApp({ "src/http/post-one/index.js": HANDLER, "src/http/post-two/index.js": HANDLER });
    platform = await startPlatform({ app, engine, flags: ["--no-watch"] });
  });

  afterAll(async () => {
    await platform.stop();
    await rm(app, { recursive: true, force: true });
  });

  const send = async (place: number, act: string, value: unknown): Promise<{ pid: number; result: unknown }> => {
    const headers = { "content-type": "application/json", ...(cookie === "" ? {} : { cookie }) };
    const path = PLACES[place % PLACES.length] ?? "";
    const answer: Answer = await platform.get("staging", path, { method: "POST", body: JSON.stringify({ act, value }), headers });
    if (answer.status !== 200) throw new Error(`${answer.status} ${answer.text}`);
    return JSON.parse(answer.text) as { pid: number; result: unknown }; // HANDLER wrote it.
  };
  const result = async (place: number, act: string, value: unknown): Promise<unknown> => (await send(place, act, value)).result;
  const writers = Array.from({ length: WRITER_COUNT }, (_, index) => index);

  it("are two processes", async () => {
    const [one, two] = await Promise.all([send(0, "get", { table: "t", key: "k" }), send(1, "get", { table: "t", key: "k" })]);
    expect(one.pid === two.pid && engine === "process").toBe(false);
    expect([one.result, two.result]).toEqual([null, null]);
  });

  it("that set one document leave one of theirs, whole, and nobody ever reads a part of one", async () => {
    const place = { table: "t", key: "contended" };
    await result(0, "set", { ...place, ...wholeOf(-1) });
    const writing = writers.map(async (writer) => result(writer, "set", { ...place, ...wholeOf(writer) }));
    const reading = writers.map(async (reader) => expectWhole(await result(reader, "get", place)));
    const read = await Promise.all(reading);
    await Promise.all(writing);
    for (const writer of read) expect([-1, ...writers]).toContain(writer);
    const last = await Promise.all([result(0, "get", place), result(1, "get", place)]);
    expect(last[0]).toEqual(last[1]);
    expect(writers).toContain(expectWhole(last[0]));
  });

  it("that count in one document lose no increment, also in one that has an end", async () => {
    const ttl = Math.floor(Date.now() / 1_000) + 3_600;
    const ending = { table: "t", key: "ending counter" };
    await result(0, "set", { ...ending, n: 0, ttl });
    const counting = writers.flatMap((writer) => [
      result(writer, "incr", { table: "t", key: "counter", prop: "n" }),
      result(writer, "incr", { ...ending, prop: "n" }),
    ]);
    await Promise.all(counting);
    expect(await result(1, "get", { table: "t", key: "counter" })).toMatchObject({ n: WRITER_COUNT });
    expect(await result(1, "get", ending)).toMatchObject({ n: WRITER_COUNT, ttl });
  });

  it("that write one session leave one of theirs, whole", async () => {
    const first = (await result(0, "writeSession", wholeOf(-1))) as { cookie: string }; // HANDLER wrote it.
    const { name, value } = parseSetCookie(first.cookie);
    cookie = `${name}=${value}`;
    const writing = writers.map(async (writer) => result(writer, "writeSession", wholeOf(writer)));
    for (const read of await Promise.all(writers.map(async (reader) => result(reader, "readSession", null)))) expectWhole(read);
    await Promise.all(writing);
    const last = await Promise.all([result(0, "readSession", null), result(1, "readSession", null)]);
    expect(last[0]).toEqual(last[1]);
    expect(writers).toContain(expectWhole(last[0]));
  });

  it("read in the other instance what they have just written, each time", async () => {
    for (let n = 0; n < 40; n += 1) {
      await result(n, "set", { table: "t", key: "mine", n });
      expect(await result(n + 1, "get", { table: "t", key: "mine" })).toMatchObject({ n });
      await result(n, "writeSession", { n });
      expect(await result(n + 1, "readSession", null)).toEqual({ n });
    }
  });
});
