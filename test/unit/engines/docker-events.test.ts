// Docker's events and lists, read into what the platform knows.
import { describe, expect, it } from "vitest";
import { parseEvent } from "../../../orchestrator/engines/docker-exits.ts";
import { instanceLabels, observedInstance } from "../../../orchestrator/engines/docker-labels.ts";
import type { InstanceSpec } from "../../../orchestrator/engines/engine.ts";

const event = (action: string, attributes: Record<string, string>) =>
  JSON.stringify({ Type: "container", Action: action, Actor: { ID: "c1", Attributes: attributes }, timeNano: 1_700_000_000_000_000_000 });

describe("an event of Docker", () => {
  it("is the exit of an instance when one of ours dies", () => {
    expect(parseEvent(event("die", { "orchestrator.instance": "i1", exitCode: "137" }))).toEqual({
      action: "die",
      container: "c1",
      instanceId: "i1",
      exitCode: 137,
      timeNano: 1_700_000_000_000_000_000,
    });
  });

  it("is nothing to us when it is another event or another container", () => {
    expect(parseEvent(event("start", { "orchestrator.instance": "i1" }))).toBeNull();
    expect(parseEvent(event("die", { exitCode: "0" }))).toBeNull();
  });
});

describe("a container in Docker's list", () => {
  // Only what the labels say is read.
  const spec = {
    instanceId: "i1",
    appId: "shop",
    environment: "staging",
    functionName: "f",
    buildId: "b1",
    configId: "c0f1",
  } as InstanceSpec;
  const labels = instanceLabels({ platformId: "p1", homeLabel: "/h" }, spec, 42);
  const container = (state: string) => ({ id: "c1", name: "n", imageId: "sha256:1", state, labels });

  it.each(["running", "paused"])("runs while Docker calls it %s", (state) => {
    expect(observedInstance(container(state))).toEqual({
      instanceId: "i1",
      appId: "shop",
      environment: "staging",
      functionName: "f",
      buildId: "b1",
      configId: "c0f1",
      state: "running",
      startedEpochMs: 42,
    });
  });

  it("has exited once Docker calls it exited", () => {
    expect(observedInstance(container("exited"))?.state).toBe("exited");
  });

  it.each(["created", "removing"])("is no instance while Docker calls it %s", (state) => {
    expect(observedInstance(container(state))).toBeNull();
  });
});
