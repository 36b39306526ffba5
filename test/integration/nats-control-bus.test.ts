// What the control plane says and hears over a real broker, also across its restarts.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { brokerHome } from "../../orchestrator/nats/broker-home.ts";
import { createControlBus, type ControlBus } from "../../orchestrator/nats/control-bus.ts";
import { readState } from "../../orchestrator/processes/detached.ts";
import type { InstanceEvent } from "../../runtime-image/contract/instance-events.ts";
import { openStoreLine } from "../../orchestrator/stores/store-line.ts";
import { BROKER_IDLE_LINE_COUNT_MAX, STORE_DATA_COUNT_MAX } from "../../runtime-image/contract/limits.ts";
import { storeStream } from "../../runtime-image/contract/subjects.ts";
import { connectBare, type BareClient } from "../support/broker-client.ts";
import { startTestBroker, type TestBroker } from "../support/test-broker.ts";
import { until } from "../support/until.ts";

let test: TestBroker;
let bus: ControlBus;
const errors: unknown[] = [];

beforeAll(async () => {
  test = await startTestBroker();
  bus = await createControlBus({ url: test.broker.url, signer: test.signer, onError: (cause) => void errors.push(cause) });
  await bus.ensureAppAccount("a1", "staging");
});
afterAll(async () => {
  await bus.close();
  await test.close();
});

const instance = async (instanceId: string): Promise<BareClient> =>
  connectBare(test.broker.url, await test.signer.instanceCredentials("a1", "staging", instanceId));
const ready = (instanceId: string): string => JSON.stringify({ kind: "ready", instanceId, loadMs: 5 } satisfies InstanceEvent);
const content = (appName: string, appId = "a1") => ({
  appId,
  appName,
  hosts: ["a.example"],
  isDefault: true,
  deployment: { kind: "none" as const },
});

async function killBroker(): Promise<void> {
  const restartCount = (): number => test.events.filter((event) => event.kind === "restarted").length;
  const before = restartCount();
  const state = await readState(brokerHome(test.home).stateFile);
  process.kill(state?.identity.pid ?? Number.NaN, "SIGKILL");
  await until(() => restartCount() > before, { timeoutMs: 15_000, what: "the broker is back" });
}

/** Tries again while the connection is on its way back. */
const reached = <Result>(action: () => Promise<Result>): Promise<void> =>
  until(
    () =>
      action().then(
        () => true,
        () => false,
      ),
    { timeoutMs: 10_000 },
  );

describe("an app's account", () => {
  it("can be made as often as one likes, and works at once", async () => {
    for (let count = 0; count < 3; count += 1) await bus.ensureAppAccount("again", "production");
    await Promise.all(Array.from({ length: 5 }, (_, index) => bus.ensureAppAccount(`many${index}`, "staging")));
    expect(await bus.pingInstance("many4", "staging", "i1", { timeoutMs: 1_000 })).toBeNull();
  });

  it("cannot be used before it was made, and can afterwards, by the same bus", async () => {
    await expect(bus.pingInstance("later", "staging", "i1", { timeoutMs: 500 })).rejects.toMatchObject({ code: "NATS_REFUSED" });
    await bus.ensureAppAccount("later", "staging");
    expect(await bus.pingInstance("later", "staging", "i1", { timeoutMs: 500 })).toBeNull();
  });
});

describe("an app's account that an earlier orchestrator made", () => {
  const countMax = async (appId: string): Promise<number | null> => {
    const access = { url: test.broker.url, ...(await test.signer.storeKeeperCredentials(appId, "staging")) };
    const line = await openStoreLine(access, "test");
    try {
      const answer = await line.ask({ subject: `$JS.API.STREAM.INFO.${storeStream("data")}`, bytes: new Uint8Array(0), timeoutMs: 2_000 });
      const { config } = JSON.parse(Buffer.from(answer.bytes).toString()) as { config?: { max_msgs: number } };
      return config?.max_msgs ?? null;
    } finally {
      await line.close();
    }
  };

  it("has its buckets brought up to date once its instances are listened to, or when all are", async () => {
    for (const appId of ["early", "late"]) await bus.adoptAppAccount(appId, "staging");
    expect([await countMax("early"), await countMax("late")]).toEqual([null, null]);
    const end = await bus.onInstanceEvent("early", "staging", () => {});
    expect([await countMax("early"), await countMax("late")]).toEqual([STORE_DATA_COUNT_MAX, null]);
    await bus.tendStores();
    expect(await countMax("late")).toBe(STORE_DATA_COUNT_MAX);
    end();
  });

  it("takes nothing new while stores are held, whether or not anything listens there", async () => {
    await bus.adoptAppAccount("held", "staging");
    await bus.holdStores(true);
    expect([await countMax("a1"), await countMax("held")]).toEqual([1, 1]);
    await bus.ensureAppAccount("new", "staging");
    expect(await countMax("new")).toBe(1);
    await bus.holdStores(false);
    expect(await Promise.all(["a1", "held", "new"].map(countMax))).toEqual(Array(3).fill(STORE_DATA_COUNT_MAX));
  });
});

describe("connections", () => {
  const socketCount = (): number => process.getActiveResourcesInfo().filter((name) => name === "TCPSocketWrap").length;

  it("are few, however many apps there are, but one for each app whose instances are listened to", async () => {
    const appIds = Array.from({ length: BROKER_IDLE_LINE_COUNT_MAX + 8 }, (_, index) => `few${index}`);
    const own = await createControlBus({ url: test.broker.url, signer: test.signer, onError: () => {} });
    const before = socketCount();
    for (const appId of appIds) await own.ensureAppAccount(appId, "staging");
    await until(() => socketCount() - before <= BROKER_IDLE_LINE_COUNT_MAX, { timeoutMs: 5_000 });
    const ends = await Promise.all(appIds.map((appId) => own.onInstanceEvent(appId, "staging", () => {})));
    expect(socketCount() - before).toBe(appIds.length);
    for (const end of ends) end();
    await until(() => socketCount() - before <= BROKER_IDLE_LINE_COUNT_MAX, { timeoutMs: 5_000 });
    expect(await own.pingInstance("few0", "staging", "missing", { timeoutMs: 500 })).toBeNull();
    await own.close();
    await until(() => socketCount() < before, { timeoutMs: 5_000 }); // Those into the accounts that are always there, too.
  });
});

describe("instances", () => {
  it("are asked how they are, told apart from missing and silent ones", async () => {
    const [lively, silent] = [await instance("lively"), await instance("silent")];
    lively.nats.subscribe("i.lively.>", {
      callback: (_error, message) =>
        lively.nats.publish(message.reply ?? "", JSON.stringify({ instanceId: "lively", state: "ready", requestCount: 2 })),
    });
    await lively.nats.flush();
    await silent.hear("i.silent.>");
    expect(await bus.pingInstance("a1", "staging", "lively", { timeoutMs: 2_000 })).toEqual({
      instanceId: "lively",
      state: "ready",
      requestCount: 2,
    });
    const startedMs = performance.now();
    expect(await bus.pingInstance("a1", "staging", "missing", { timeoutMs: 30_000 })).toBeNull();
    expect(performance.now() - startedMs).toBeLessThan(5_000);
    expect(await bus.pingInstance("a1", "staging", "silent", { timeoutMs: 100 })).toBeNull();
    await Promise.all([lively.close(), silent.close()]);
  });

  it("are heard by every listener, also when one of them throws, until it stops listening", async () => {
    const heard: InstanceEvent[] = [];
    const endThrowing = await bus.onInstanceEvent("a1", "staging", () => {
      throw new Error("a listener's own mistake");
    });
    const end = await bus.onInstanceEvent("a1", "staging", (event) => void heard.push(event));
    const self = await instance("speaker");
    await self.send("o.speaker.up", ready("speaker"));
    await until(() => heard.length === 1, { timeoutMs: 5_000 });
    expect(heard).toEqual([{ kind: "ready", instanceId: "speaker", loadMs: 5 }]);
    expect(errors.map(String)).toContain("Error: a listener's own mistake");
    end();
    endThrowing();
    await bus.pingInstance("a1", "staging", "missing", { timeoutMs: 1_000 }); // The end has reached the broker when this was answered.
    await self.send("o.speaker.up", ready("speaker"));
    await bus.pingInstance("a1", "staging", "missing", { timeoutMs: 1_000 });
    expect(heard).toHaveLength(1);
    await self.close();
  });

  it("are heard again after the broker was killed", async () => {
    const heard: InstanceEvent[] = [];
    const end = await bus.onInstanceEvent("a1", "staging", (event) => void heard.push(event));
    await killBroker();
    await reached(() => bus.pingInstance("a1", "staging", "missing", { timeoutMs: 500 }));
    const self = await instance("reborn");
    await self.send("o.reborn.up", ready("reborn"));
    await until(() => heard.length > 0, { timeoutMs: 5_000 });
    expect(heard).toEqual([{ kind: "ready", instanceId: "reborn", loadMs: 5 }]);
    end();
    await self.close();
  });

  it("are not called missing while the broker is away", async () => {
    await bus.pingInstance("a1", "staging", "missing", { timeoutMs: 500 });
    const killed = killBroker();
    const answers: unknown[] = [];
    await until(
      async () => {
        answers.push(
          await bus.pingInstance("a1", "staging", "missing", { timeoutMs: 50 }).catch((error: { code?: unknown }) => error.code),
        );
        return answers.includes("BROKER_UNAVAILABLE");
      },
      { timeoutMs: 5_000 },
    );
    await killed;
    await reached(() => bus.pingInstance("a1", "staging", "missing", { timeoutMs: 500 }));
    expect(answers.filter((answer) => answer !== null && answer !== "BROKER_UNAVAILABLE")).toEqual([]);
  });
});

describe("snapshots", () => {
  it("carry a sequence that only moves forward: over writes, removals, a second writer and a killed broker", async () => {
    const other = await createControlBus({ url: test.broker.url, signer: test.signer, onError: () => {} });
    const sequences = [await bus.publishSnapshot("production", content("one")), await other.publishSnapshot("production", content("two"))];
    await bus.removeSnapshot("production", "a1");
    expect(await bus.readSnapshot("production", "a1")).toBeNull();
    sequences.push(await bus.publishSnapshot("production", content("three")));
    await killBroker();
    await reached(() => other.readSnapshot("production", "a1"));
    sequences.push(await other.publishSnapshot("production", content("four")));
    expect(sequences).toEqual(sequences.toSorted((first, second) => first - second));
    expect(new Set(sequences).size).toBe(sequences.length);
    expect(await other.readSnapshot("production", "a1")).toEqual({ ...content("four"), v: 1, sequence: sequences.at(-1) });
    expect(await other.readSnapshot("staging", "a1")).toBeNull();
    await other.close();
  });

  it("are all written when several writers meet", async () => {
    const sequences = await Promise.all([1, 2, 3].map((number) => bus.publishSnapshot("staging", content(`${number}`, "race"))));
    expect(new Set(sequences).size).toBe(3);
  });
});

describe("control state", () => {
  it("is written, read, listed by prefix and removed", async () => {
    await bus.writeControl("apps.a1", { name: "one" });
    await bus.writeControl("apps.a2", { name: "two" });
    await bus.writeControl("releases.a1.r1", [1, 2]);
    expect((await bus.listControl("apps")).map(({ key, value }) => [key, value])).toEqual([
      ["apps.a1", { name: "one" }],
      ["apps.a2", { name: "two" }],
    ]);
    await bus.removeControl("apps.a1");
    expect(await bus.readControl("apps.a1")).toBeNull();
    expect((await bus.listControl("")).map(({ key }) => key)).toEqual(["apps.a2", "releases.a1.r1"]);
    expect(await bus.listControl("nothing")).toEqual([]);
  });

  it("is written only at the revision that was expected", async () => {
    const revision = await bus.writeControl("cas", 1, { expectedRevision: 0 });
    expect(await bus.writeControl("cas", 2, { expectedRevision: 0 })).toBeNull();
    expect(await bus.writeControl("cas", 2, { expectedRevision: revision ?? -1 })).toBeGreaterThan(revision ?? Infinity);
    expect((await bus.readControl("cas"))?.value).toBe(2);
  });

  it("refuses a key outside the alphabet of the store", async () => {
    await expect(bus.writeControl("Māori", 1)).rejects.toThrow("invalid key");
    expect((await bus.listControl("")).map(({ key }) => key)).not.toContain("Māori");
  });
});
