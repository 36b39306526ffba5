// Set variables in the control state of a real broker: what comes back, what two writers do to each other, what stands on its disk.
import { readFile, readdir } from "node:fs/promises";
import { join } from "node:path";
import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type ControlBus, createControlBus } from "../../orchestrator/nats/control-bus.ts";
import { deriveBrokerKeys, loadBrokerKeys } from "../../orchestrator/nats/keys.ts";
import type { SetVariables } from "../../orchestrator/variables/change.ts";
import { type VariableStore, type VariableTarget, createVariableStore } from "../../orchestrator/variables/variable-store.ts";
import { type TestBroker, startTestBroker } from "../support/test-broker.ts";

const SECRET = "s3cret-in-the-store";
const STAGING: VariableTarget = { appId: "a1", environment: "staging" };

describe("set variables in the control state", () => {
  let test: TestBroker;
  let bus: ControlBus;
  let store: VariableStore;

  beforeAll(async () => {
    test = await startTestBroker();
    bus = await createControlBus({ url: test.broker.url, signer: test.signer, onError: () => undefined });
    store = createVariableStore(bus, await loadBrokerKeys(test.home));
  });

  afterAll(async () => {
    await bus.close();
    await test.close();
  });

  const variables = (values: Record<string, string>): SetVariables =>
    new Map(Object.entries(values).map(([name, value]) => [name, { value, changedEpochMs: 5, changedBy: "someone" }]));

  const written = async (target: VariableTarget, values: Record<string, string>): Promise<void> => {
    const { revision } = await store.read(target);
    expect(await store.write(target, variables(values), revision)).toBe(true);
  };

  it("are none where none were ever set", async () => {
    expect(await store.read({ appId: "a0", environment: "staging" })).toEqual({ variables: new Map(), revision: 0 });
  });

  it("come back as they were written, also the largest that there may be", async () => {
    const most = Object.fromEntries(Array.from({ length: 256 }, (_, index) => [`A${index}`, "é".repeat(2_048)]));
    await written({ appId: "large", environment: "staging" }, most);
    const { variables: found } = await store.read({ appId: "large", environment: "staging" });
    expect(found).toEqual(variables(most));
  });

  it("are each environment's and each app's own", async () => {
    await written(STAGING, { SECRET });
    expect((await store.read({ ...STAGING, environment: "production" })).variables.size).toBe(0);
    expect((await store.read({ ...STAGING, appId: "a2" })).variables.size).toBe(0);
  });

  it("are not written over what somebody else wrote in between", async () => {
    await written(STAGING, { SECRET });
    const { revision } = await store.read(STAGING);
    const outcomes = await Promise.all(
      ["1", "2", "3"].map(async (value) => store.write(STAGING, variables({ SECRET, N: value }), revision)),
    );
    expect(outcomes.filter(Boolean)).toEqual([true]);
    expect((await store.read(STAGING)).variables.get("N")?.value).toBe(String(outcomes.indexOf(true) + 1));
  });

  it("show their names, and no value, to who reads the control state or the broker's disk", async () => {
    await written(STAGING, { SECRET });
    const kept = JSON.stringify(await bus.readControl("variables.a1.staging"));
    expect(kept).toContain('"SECRET"');
    expect(kept).not.toContain(SECRET);
    for (const entry of await readdir(test.home, { recursive: true, withFileTypes: true })) {
      if (!entry.isFile()) continue;
      const bytes = await readFile(join(entry.parentPath, entry.name));
      expect([entry.name, bytes.includes(SECRET) || bytes.includes(Buffer.from(SECRET).toString("base64").slice(0, 20))]).toEqual([
        entry.name,
        false,
      ]);
    }
  });

  it("cannot be read with other keys, and say which could not", async () => {
    await written(STAGING, { SECRET, OTHER: SECRET });
    const stranger = createVariableStore(bus, deriveBrokerKeys(randomBytes(32)));
    await expect(stranger.read(STAGING)).rejects.toMatchObject({
      code: "HOME_UNUSABLE",
      detail: {
        problems: ["staging: SECRET was encrypted with other keys, or altered", "staging: OTHER was encrypted with other keys, or altered"],
      },
    });
  });

  it("cannot be read after a value was moved to another name, and the others are not given out either", async () => {
    await written(STAGING, { SECRET, OTHER: "x" });
    const entry = await bus.readControl("variables.a1.staging");
    const record = entry?.value as { variables: Record<string, unknown> }; // This file just wrote it.
    const moved = { ...record, variables: { ...record.variables, OTHER: record.variables["SECRET"] } };
    await bus.writeControl("variables.a1.staging", moved);
    await expect(store.read(STAGING)).rejects.toMatchObject({
      code: "HOME_UNUSABLE",
      detail: { problems: ["staging: OTHER was encrypted with other keys, or altered"] },
    });
    await bus.writeControl("variables.a1.staging", { v: 1, variables: [] });
    await expect(store.read(STAGING)).rejects.toMatchObject({ code: "HOME_UNUSABLE" });
  });
});
