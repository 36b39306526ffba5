// Changes of an app's variables, with what can go wrong between instances, control state and environments made to happen.
import { randomBytes } from "node:crypto";
import { describe, expect, it } from "vitest";
import { PlatformError } from "../../../runtime-image/contract/errors.ts";
import type { Environment } from "../../../runtime-image/contract/instance-manifest.ts";
import type { VariableValues } from "../../../orchestrator/variables/change.ts";
import { createVariableStore } from "../../../orchestrator/variables/variable-store.ts";
import { type AppVariables, createAppVariables } from "../../../orchestrator/variables/variables.ts";

interface World {
  readonly variables: AppVariables;
  readonly running: Record<Environment, VariableValues>;
  readonly stored: (environment: Environment) => Promise<VariableValues>;
  readonly breaks: (environment: Environment, isBroken: (values: VariableValues) => boolean) => void;
  readonly loseConnection: (howOften: number, isWritten: boolean) => void;
  readonly interfere: () => void;
}

function world(): World {
  const entries = new Map<string, { value: unknown; revision: number }>();
  const broken = new Map<Environment, (values: VariableValues) => boolean>();
  const running: Record<Environment, VariableValues> = { staging: {}, production: {} };
  const losing = { count: 0, isWritten: false, isInterfered: false };
  let revision = 0;
  const put = (key: string, value: unknown): number => {
    revision += 1;
    entries.set(key, { value, revision });
    return revision;
  };
  const store = createVariableStore(
    {
      readControl: async (key) => entries.get(key) ?? null,
      async writeControl(key, value, { expectedRevision } = {}) {
        if (losing.isInterfered) put(key, { v: 1, writeId: "other", variables: {} });
        const isExpected = (entries.get(key)?.revision ?? 0) === expectedRevision;
        losing.count -= 1;
        if (losing.count < 0) return isExpected ? put(key, value) : null;
        if (losing.isWritten && isExpected) put(key, value);
        throw new PlatformError("BROKER_UNAVAILABLE");
      },
      removeControl: async (key) => void entries.delete(key),
    },
    { variablesKey: () => Buffer.alloc(32, 7) },
  );
  const variables = createAppVariables({
    appId: "a1",
    store,
    clock: { nowEpochMs: () => 1_000 },
    deployer: {
      folderVariables: () => ({ FOLDER: "1" }),
      async setVariables(environment, set, record) {
        if (broken.get(environment)?.(set) === true) throw new PlatformError("DEPLOY_FAILED", { problems: [`${environment} breaks`] });
        await record();
        running[environment] = set;
        return [];
      },
    },
  });
  return {
    variables,
    running,
    stored: async (environment) => {
      const { variables: found } = await store.read({ appId: "a1", environment });
      return Object.fromEntries([...found].map(([name, { value }]) => [name, value]));
    },
    breaks: (environment, isBroken) => void broken.set(environment, isBroken),
    loseConnection: (howOften, isWritten) => void Object.assign(losing, { count: howOften, isWritten }),
    interfere: () => void Object.assign(losing, { isInterfered: true }),
  };
}

const BOTH = ["staging", "production"] as const;
const set = (values: VariableValues) => ({ set: values, remove: [] });

describe("a change of variables", () => {
  it("runs and is kept in every environment that it names, and nowhere else", async () => {
    const { variables, running, stored } = world();
    await variables.change(BOTH, set({ A: "1" }), "me");
    await variables.change(["staging"], { set: { B: "2" }, remove: ["A"] }, "me");
    expect(running).toEqual({ staging: { B: "2" }, production: { A: "1" } });
    expect([await stored("staging"), await stored("production")]).toEqual([{ B: "2" }, { A: "1" }]);
  });

  it("loses nothing of another one at the same moment", async () => {
    const { variables, stored } = world();
    const names = Array.from({ length: 20 }, (_, index) => `A${index}`);
    await Promise.all(names.map(async (name) => variables.change(["staging"], set({ [name]: "1" }), "me")));
    expect(Object.keys(await stored("staging")).toSorted()).toEqual(names.toSorted());
  });

  it("is taken back where it was in effect already, once another environment does not run with it", async () => {
    const { variables, running, stored, breaks } = world();
    await variables.change(BOTH, set({ A: "old" }), "me");
    breaks("production", (values) => values["A"] === "new");
    await expect(variables.change(BOTH, set({ A: "new" }), "me")).rejects.toMatchObject({
      code: "DEPLOY_FAILED",
      detail: { problems: ["production breaks"] },
    });
    expect(running).toEqual({ staging: { A: "old" }, production: { A: "old" } });
    expect([await stored("staging"), await stored("production")]).toEqual([{ A: "old" }, { A: "old" }]);
  });

  it("that cannot be taken back is said to have stayed", async () => {
    const { variables, running, breaks } = world();
    await variables.change(BOTH, set({ A: "old" }), "me");
    breaks("production", (values) => values["A"] === "new");
    breaks("staging", (values) => values["A"] === "old");
    await expect(variables.change(BOTH, set({ A: "new" }), "me")).rejects.toMatchObject({
      code: "DEPLOY_FAILED",
      detail: { problems: ["production breaks", expect.stringContaining("staging keeps the change")] },
    });
    expect(running).toEqual({ staging: { A: "new" }, production: { A: "old" } });
  });

  it.each([
    ["before it was written", false],
    ["after it was written", true],
  ])("is made once where the connection to the broker is lost %s", async (_when, isWritten) => {
    const { variables, running, stored, loseConnection } = world();
    await variables.change(["staging"], set({ A: "1" }), "me");
    loseConnection(1, isWritten);
    await variables.change(["staging"], set({ A: "2" }), "me");
    expect([running.staging, await stored("staging")]).toEqual([{ A: "2" }, { A: "2" }]);
  });

  it("does not run where it cannot be kept", async () => {
    const { variables, running, stored, loseConnection } = world();
    await variables.change(["staging"], set({ A: "1" }), "me");
    loseConnection(1_000, false);
    await expect(variables.change(["staging"], set({ A: "2" }), "me")).rejects.toMatchObject({ code: "BROKER_UNAVAILABLE" });
    expect([running.staging, await stored("staging")]).toEqual([{ A: "1" }, { A: "1" }]);
  });

  it("is refused where somebody else wrote at the same moment", async () => {
    const { variables, running, interfere } = world();
    interfere();
    await expect(variables.change(["staging"], set({ A: "2" }), "me")).rejects.toMatchObject({ code: "VARIABLES_INVALID" });
    expect(running.staging).toEqual({});
  });

  it("tells nothing but names of what there is afterwards", async () => {
    const secret = randomBytes(8).toString("hex");
    const { variables } = world();
    const outcome = await variables.change(["staging"], set({ A: secret, FOLDER: secret }), "me");
    const listed = await variables.list("staging");
    expect(outcome).toEqual({ environments: [{ environment: "staging", changed: ["A", "FOLDER"], failures: [] }] });
    expect(listed.map(({ name, source, hidesFolder, changedBy }) => [name, source, hidesFolder, changedBy])).toEqual([
      ["A", "set", false, "me"],
      ["FOLDER", "set", true, "me"],
    ]);
    expect(JSON.stringify([outcome, listed])).not.toContain(secret);
  });
});

describe("variables that are put in place of those that were set", () => {
  it("run and are kept, and no others, in one environment", async () => {
    const { variables, running, stored } = world();
    await variables.change(BOTH, set({ A: "1", B: "2" }), "me");
    const outcome = await variables.replace("staging", { B: "2", C: "3" }, "restorer");
    expect(outcome).toEqual({ environment: "staging", changed: ["A", "C"], failures: [] });
    expect(running).toEqual({ staging: { B: "2", C: "3" }, production: { A: "1", B: "2" } });
    expect([await stored("staging"), await variables.keptValues("staging")]).toEqual([running.staging, running.staging]);
    const by = (await variables.list("staging")).map(({ name, changedBy }) => [name, changedBy]);
    expect(by).toEqual([
      ["B", "me"],
      ["C", "restorer"],
      ["FOLDER", null],
    ]);
  });

  it("may be none, also where there were none", async () => {
    const { variables, running } = world();
    expect(await variables.replace("staging", {}, "me")).toEqual({ environment: "staging", changed: [], failures: [] });
    await variables.change(["staging"], set({ A: "1" }), "me");
    expect((await variables.replace("staging", {}, "me")).changed).toEqual(["A"]);
    expect(running.staging).toEqual({});
  });

  it("leave everything as it was where functions do not start with them, or where one may not be", async () => {
    const { variables, running, stored, breaks } = world();
    await variables.change(["staging"], set({ A: "1" }), "me");
    breaks("staging", (values) => values["A"] === "2");
    await expect(variables.replace("staging", { A: "2" }, "me")).rejects.toMatchObject({ code: "DEPLOY_FAILED" });
    await expect(variables.replace("staging", { PATH: "2" }, "me")).rejects.toMatchObject({ code: "VARIABLES_INVALID" });
    expect([running.staging, await stored("staging")]).toEqual([{ A: "1" }, { A: "1" }]);
  });
});
