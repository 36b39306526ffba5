// Connections that are opened when one is needed: shared, kept while they are used, and few beyond that.
import { describe, expect, it } from "vitest";
import { createKeptLines, type KeptLines, type WantedLine } from "../../../orchestrator/nats/kept-lines.ts";

interface Line {
  readonly name: string;
  close(): Promise<void>;
}

interface Rig {
  readonly lines: KeptLines<Line>;
  readonly opened: string[];
  readonly closed: string[];
  wanted(name: string): WantedLine<Line>;
}

function rig(idleCountMax: number): Rig {
  const opened: string[] = [];
  const closed: string[] = [];
  return {
    lines: createKeptLines<Line>({ idleCountMax }),
    opened,
    closed,
    wanted: (name) => ({
      name,
      open: async () => {
        opened.push(name);
        return { name, close: async () => void closed.push(name) };
      },
    }),
  };
}

const nothing = async (): Promise<void> => undefined;
/** Nobody waits for the end of a line that is not needed. */
const ended = async (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));

describe("a line", () => {
  it("is opened once for all who want it at the same time, and again for the next", async () => {
    const { lines, opened, wanted } = rig(1);
    const names = await Promise.all([1, 2, 3].map(async () => lines.use(wanted("a"), async (line) => line.name)));
    await lines.use(wanted("a"), nothing);
    expect([names, opened]).toEqual([["a", "a", "a"], ["a"]]);
  });

  it("is ended once too many others were let go of after it, the longest unused one first", async () => {
    const { lines, closed, wanted } = rig(2);
    for (const name of ["a", "b", "a", "c", "d"]) await lines.use(wanted(name), nothing);
    await ended();
    expect(closed).toEqual(["b", "a"]);
    expect(["a", "b", "c", "d"].map((name) => lines.isOpen(name))).toEqual([false, false, true, true]);
  });

  it("stays open while one of those who hold it does, however many others come and go", async () => {
    const { lines, opened, closed, wanted } = rig(0);
    const [first, second] = [await lines.hold(wanted("a")), await lines.hold(wanted("a"))];
    first.letGo();
    first.letGo(); // Counts once.
    await lines.use(wanted("b"), nothing);
    await ended();
    expect([opened, closed]).toEqual([["a", "b"], ["b"]]);
    second.letGo();
    await lines.close();
    expect(closed).toEqual(["b", "a"]);
  });

  it("that could not be opened is tried anew by the next, and was nobody's", async () => {
    const { lines, wanted, closed } = rig(2);
    const broken = { name: "a", open: async () => Promise.reject(new Error("refused")) };
    await expect(Promise.all([lines.hold(broken), lines.hold(broken)])).rejects.toThrow("refused");
    expect(await lines.use(wanted("a"), async (line) => line.name)).toBe("a");
    await lines.close();
    expect(closed).toEqual(["a"]);
  });

  it("that is ended while somebody holds it is not the next one's", async () => {
    const { lines, opened, closed, wanted } = rig(2);
    const held = await lines.hold(wanted("a"));
    await lines.end("a");
    await lines.use(wanted("a"), nothing);
    held.letGo();
    expect([opened, closed]).toEqual([["a", "a"], ["a"]]);
    expect(lines.isOpen("a")).toBe(true);
  });

  it("is not opened any more once all are closed", async () => {
    const { lines, opened, wanted } = rig(2);
    await lines.use(wanted("a"), nothing);
    await lines.close();
    await expect(lines.hold(wanted("b"))).rejects.toMatchObject({ code: "BROKER_UNAVAILABLE" });
    expect(opened).toEqual(["a"]);
  });
});
