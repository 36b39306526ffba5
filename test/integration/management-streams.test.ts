// Streams of the management API: their pace, their ends, and what becomes of them when the orchestrator stops.
import { once } from "node:events";
import { type ClientRequest, type IncomingMessage, request } from "node:http";
import { Readable } from "node:stream";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { connectApi } from "../../orchestrator/api/client.ts";
import { followed } from "../../orchestrator/api/follow.ts";
import { type ApiRoute, Type, route } from "../../orchestrator/api/route.ts";
import { type ApiRig, startApiRig } from "../support/api-rig.ts";
import { until } from "../support/until.ts";

describe("streams of the management API", () => {
  const heard = new Set<(value: unknown) => void>();
  let rig: ApiRig;
  let produced = 0;
  let wasAborted = false;
  let answerNow: (value: unknown) => void = () => undefined;

  const routes: readonly ApiRoute[] = [
    route({
      method: "GET",
      path: "/api/many",
      role: "read",
      summary: "Lines without end.",
      answer: {
        kind: "lines",
        schema: Type.Unknown(),
        handle: async ({ signal }) =>
          (async function* lines() {
            signal.addEventListener("abort", () => (wasAborted = true));
            for (produced = 0; !signal.aborted; produced += 1) yield { text: "x".repeat(1_000) };
          })(),
      },
    }),
    route({
      method: "GET",
      path: "/api/broken",
      role: "read",
      summary: "Lines that break off.",
      answer: {
        kind: "lines",
        schema: Type.Unknown(),
        handle: async () =>
          (async function* lines() {
            yield 1;
            throw new Error("broken");
          })(),
      },
    }),
    route({
      method: "GET",
      path: "/api/follow",
      role: "read",
      summary: "What happens.",
      answer: {
        kind: "events",
        schema: Type.Unknown(),
        handle: async ({ lastEventId, signal }) =>
          followed<{ id: string; event: string; data: unknown }>(
            (hear) => {
              const listener = (data: unknown): void => hear({ id: "7", event: "news", data });
              heard.add(listener);
              return () => heard.delete(listener);
            },
            { first: [{ id: "6", event: "first", data: { after: lastEventId } }], signal },
          ),
      },
    }),
    route({
      method: "GET",
      path: "/api/download",
      role: "read",
      summary: "Bytes.",
      answer: {
        kind: "download",
        contentType: "application/octet-stream",
        handle: async () => Readable.from(bytes(32), { objectMode: false }),
      },
    }),
    route({
      method: "POST",
      path: "/api/upload",
      role: "deploy",
      summary: "Counts bytes.",
      answer: {
        kind: "upload",
        contentType: "application/octet-stream",
        bytesMax: 64_000_000,
        schema: Type.Object({ count: Type.Integer() }),
        async handle(_call, body) {
          let count = 0;
          for await (const part of body) count += Buffer.from(part).length;
          return { count };
        },
      },
    }),
    route({
      method: "GET",
      path: "/api/slow",
      role: "read",
      summary: "Waits.",
      answer: { kind: "json", schema: Type.Unknown(), handle: async () => new Promise((done) => (answerNow = done)) },
    }),
  ];

  beforeEach(async () => {
    rig = await startApiRig(routes);
  });

  afterEach(async () => rig.stop());

  const open = async (
    path: string,
    headers: Record<string, string> = {},
  ): Promise<{ outgoing: ClientRequest; answer: IncomingMessage }> => {
    const outgoing = request({
      host: "127.0.0.1",
      port: rig.port,
      path,
      headers: { authorization: `Bearer ${rig.token}`, host: `localhost:${rig.port}`, ...headers },
    }).end();
    const [answer] = (await once(outgoing, "response")) as [IncomingMessage]; // What node:http says of this event.
    return { outgoing, answer };
  };

  it("go no faster than they are read, and end when their reader goes away", async () => {
    const { outgoing, answer } = await open("/api/many");
    answer.pause();
    let seen = -1;
    await until(
      () => {
        const isStill = produced > 0 && produced === seen;
        seen = produced;
        return isStill;
      },
      { timeoutMs: 5_000 },
    );
    expect(produced).toBeLessThan(20_000);
    outgoing.destroy();
    await until(() => wasAborted, { timeoutMs: 5_000 });
  });

  it("that break off are not taken for whole", async () => {
    const client = await connectApi(rig);
    const lines: unknown[] = [];
    await expect(client.lines("/api/broken", (line) => void lines.push(line), new AbortController().signal)).rejects.toThrow(
      /aborted|broke off/,
    );
    expect(lines.filter((line) => line !== 1)).toEqual([]);
    expect(rig.troubles.map(String)).toEqual(["Error: broken"]);
  });

  it("of events go on from the last one that was heard", async () => {
    const { outgoing, answer } = await open("/api/follow", { "last-event-id": "5" });
    expect(answer.headers["content-type"]).toBe("text/event-stream");
    let text = "";
    answer.setEncoding("utf8").on("data", (part: string) => (text += part));
    await until(() => text.includes("first"), { timeoutMs: 5_000 });
    for (const hear of heard) hear("line\nbreak");
    await until(() => text.includes("news"), { timeoutMs: 5_000 });
    expect(text).toBe(':\n\nid: 6\nevent: first\ndata: {"after":"5"}\n\nid: 7\nevent: news\ndata: "line\\nbreak"\n\n');
    outgoing.destroy();
    await until(() => heard.size === 0, { timeoutMs: 5_000 });
  });

  it("of lines are there as events for those who ask for them", async () => {
    const { outgoing, answer } = await open("/api/many", { accept: "text/event-stream" });
    const [first] = (await once(answer.setEncoding("utf8"), "data")) as [string];
    expect(first).toMatch(/^:\n\n/);
    outgoing.destroy();
  });

  it("of bytes go down and up through the client, many megabytes of them", async () => {
    const client = await connectApi(rig);
    const downloaded = await client.download("/api/download");
    expect(await client.upload("/api/upload", downloaded)).toEqual({ count: 32_000_000 });
  });

  it("of more bytes than a route takes are refused", async () => {
    const client = await connectApi(rig);
    const sent = client.upload("/api/upload", Readable.from(bytes(70), { objectMode: false }));
    await expect(sent).rejects.toMatchObject({ code: "BODY_TOO_LARGE" });
  });

  it("end when the orchestrator stops, while those who wait for an answer still get it", async () => {
    const client = await connectApi(rig);
    const waiting = client.get("/api/slow");
    await until(() => answerNow.length === 1, { timeoutMs: 5_000 });
    const events = await client.download("/api/follow");
    await once(events, "data");
    const closing = rig.close();
    await once(events.resume(), "end");
    answerNow("late");
    expect(await waiting).toBe("late");
    await closing;
    await expect(connectApi({ port: rig.port, home: null })).rejects.toMatchObject({ code: "NOT_RUNNING" });
    expect(rig.troubles).toEqual([]);
  });
});

function* bytes(megabyteCount: number): Generator<Buffer> {
  for (let index = 0; index < megabyteCount; index += 1) yield Buffer.alloc(1_000_000, index);
}
