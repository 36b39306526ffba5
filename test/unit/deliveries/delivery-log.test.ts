// The log of a delivery: what it keeps, what it leaves out, who hears of it.
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type DeliveryLogs, createDeliveryLogs } from "../../../orchestrator/deliveries/delivery-log.ts";
import type { LogEvent } from "../../../orchestrator/deliveries/delivery.ts";

let folder = "";
let logs: DeliveryLogs;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "orchestrator-logs-"));
  logs = createDeliveryLogs(folder);
});

afterAll(async () => rm(folder, { recursive: true, force: true }));

describe("the log of a delivery", () => {
  it("is heard as it grows, and read when it is over", async () => {
    const log = await logs.begin("shop-1");
    const heard: LogEvent[] = [];
    log.add({ kind: "step", step: "verify", state: "running", durationMs: null });
    const stop = log.follow((event) => heard.push(event));
    log.line("verify", "one");
    stop();
    log.line("verify", "two");
    await log.close();
    expect(heard).toEqual([{ kind: "line", step: "verify", text: "one" }]);
    expect(await logs.read("shop-1")).toEqual(log.events);
    expect(log.events).toHaveLength(3);
  });

  it("holds no colours, no cursor moves and no endless lines", async () => {
    const log = await logs.begin("shop-2");
    log.line("build", "\u001b[31mred\u001b[0m \u0007bell\rback\u001b[2K \u009b1mx\ttab");
    log.line("build", "x".repeat(100_000));
    await log.close();
    const [first, second] = (await logs.read("shop-2")).map((event) => (event.kind === "line" ? event.text : ""));
    expect(first).toBe("red bellback x\ttab");
    expect(second).toHaveLength(4_000);
  });

  it("is bounded, and says where it stops; how steps end is always in it", async () => {
    const log = await logs.begin("shop-3");
    for (let index = 0; index < 4_000; index += 1) log.line("test", "y".repeat(4_000));
    log.add({ kind: "step", step: "test", state: "failed", durationMs: 5 });
    await log.close();
    const events = await logs.read("shop-3");
    expect(events.length).toBeLessThan(2_100);
    expect(events.at(-2)).toMatchObject({ text: expect.stringContaining("the log is full") as unknown });
    expect(events.at(-1)).toMatchObject({ kind: "step", state: "failed" });
  });

  it("of an orchestrator that died in the middle of a line is read up to there, and begun anew", async () => {
    await writeFile(join(folder, "shop-4.ndjson"), '{"kind":"line","step":"test","text":"whole"}\n{"kind":"li');
    expect(await logs.read("shop-4")).toEqual([{ kind: "line", step: "test", text: "whole" }]);
    await (await logs.begin("shop-4")).close();
    expect(await logs.read("shop-4")).toEqual([]);
    await logs.remove("shop-4");
    expect(await logs.read("shop-4")).toEqual([]);
  });
});
