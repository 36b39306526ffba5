// Slots: how many at once, who comes next, and how long anybody waits.
import { describe, expect, it } from "vitest";
import { createKeyedSlots, createSlots } from "../../../orchestrator/git/slots.ts";

const settings = { countAtOnce: 1, waitingCountMax: 2, timeoutMs: 5_000, what: "Other pushes" };
const { signal } = new AbortController();

describe("slots", () => {
  it("go on to those who wait, in the order in which they came", async () => {
    const slots = createSlots(settings);
    const giveBack = await slots.take({ signal });
    const order: string[] = [];
    const waiting = ["first", "second"].map(async (name) => {
      const give = await slots.take({ signal });
      order.push(name);
      give();
    });
    expect(order).toEqual([]);
    giveBack();
    await Promise.all(waiting);
    expect(order).toEqual(["first", "second"]);
    (await slots.take({ signal }))(); // And is free again.
  });

  it("say that they are waited for only where they are", async () => {
    const slots = createSlots(settings);
    let waitCount = 0;
    const onWait = (): void => void (waitCount += 1);
    const giveBack = await slots.take({ signal, onWait });
    expect(waitCount).toBe(0);
    const second = slots.take({ signal, onWait });
    expect(waitCount).toBe(1);
    giveBack();
    (await second)();
  });

  it("count once what is given back twice", async () => {
    const slots = createSlots(settings);
    const giveBack = await slots.take({ signal });
    giveBack();
    giveBack();
    await slots.take({ signal });
    const late = createSlots({ ...settings, timeoutMs: 20 });
    await late.take({ signal });
    await expect(late.take({ signal })).rejects.toMatchObject({ code: "GIT_BUSY" });
    const third = new AbortController();
    const waiting = slots.take({ signal: third.signal });
    third.abort(new Error("still taken"));
    await expect(waiting).rejects.toThrow("still taken");
  });

  it("refuse at once where enough wait already", async () => {
    const slots = createSlots({ ...settings, waitingCountMax: 0 });
    await slots.take({ signal });
    await expect(slots.take({ signal })).rejects.toMatchObject({ code: "GIT_BUSY" });
  });

  it("are not kept for who gave up", async () => {
    const slots = createSlots(settings);
    const giveBack = await slots.take({ signal });
    const gone = new AbortController();
    const left = slots.take({ signal: gone.signal });
    const next = slots.take({ signal });
    gone.abort(new Error("gone"));
    await expect(left).rejects.toThrow("gone");
    giveBack();
    (await next)();
    await expect(slots.take({ signal: AbortSignal.abort(new Error("before")) })).rejects.toThrow("before");
  });

  it("of one key do not hold up another key, and are apart again when nobody holds them", async () => {
    const slots = createKeyedSlots({ ...settings, timeoutMs: 20 });
    const giveBack = await slots.take("a", { signal });
    (await slots.take("b", { signal }))();
    await expect(slots.take("a", { signal })).rejects.toMatchObject({ code: "GIT_BUSY" });
    giveBack();
    giveBack();
    const again = await slots.take("a", { signal });
    await expect(slots.take("a", { signal })).rejects.toMatchObject({ code: "GIT_BUSY" });
    again();
  });
});
