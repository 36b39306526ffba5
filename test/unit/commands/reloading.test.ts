// A folder that is read while somebody saves into it.
import { setImmediate as turn } from "node:timers/promises";
import { beforeEach, describe, expect, it } from "vitest";
import { createReloading } from "../../../orchestrator/commands/reloading.ts";

describe("a folder that changed", () => {
  let text = "";
  let used: string[] = [];
  let errors: unknown[] = [];
  let isQuiet = true;
  /** What happens between the moment at which a text is read and the moment at which it is there. */
  let meanwhile: (() => void)[] = [];
  let changed: () => void;

  beforeEach(() => {
    [text, used, errors, isQuiet, meanwhile] = ["", [], [], true, []];
    changed = createReloading<string>({
      read: async () => {
        const found = text;
        await turn();
        meanwhile.shift()?.();
        if (found === "broken") throw new Error(found);
        return found;
      },
      use: async (found) => void used.push(found),
      isQuiet: () => isQuiet,
      onError: (error) => void errors.push(error),
    });
  });

  const settled = async (): Promise<void> => {
    for (let count = 0; count < 50; count += 1) await turn();
  };

  const save = (whole: string): void => {
    text = whole;
    changed();
  };

  it("is read and used", async () => {
    save("one");
    await settled();
    expect(used).toEqual(["one"]);
  });

  it("is read again where it was saved while it was read, and half of it is never used", async () => {
    meanwhile = [() => save("whole")];
    save("");
    await settled();
    expect(used).toEqual(["whole"]);
  });

  it("is not used while a change is about to be told of", async () => {
    isQuiet = false;
    save("");
    await settled();
    expect(used).toEqual([]);
    isQuiet = true;
    save("whole");
    await settled();
    expect(used).toEqual(["whole"]);
  });

  it("is not called wrong for what was half saved", async () => {
    meanwhile = [() => save("whole")];
    save("broken");
    await settled();
    expect(used).toEqual(["whole"]);
    expect(errors).toEqual([]);
  });

  it("is called wrong where it stays so, and is used once it is mended", async () => {
    save("broken");
    await settled();
    expect(errors).toHaveLength(1);
    save("mended");
    await settled();
    expect(used).toEqual(["mended"]);
  });

  it("is used in the end though it is saved all the time", async () => {
    const again = (): void => {
      meanwhile.push(again);
      changed();
    };
    meanwhile = [again];
    save("always new");
    for (let count = 0; count < 200 && used.length === 0; count += 1) await turn();
    expect(used).toContain("always new");
    meanwhile = [];
    await settled();
  });
});
