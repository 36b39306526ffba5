// Which of an app's scripts a delivery runs.
import { describe, expect, it } from "vitest";
import { ownScriptsIn } from "../../../orchestrator/deliveries/own-scripts.ts";

const of = (value: unknown) => ownScriptsIn(JSON.stringify(value));

describe("the scripts of an app", () => {
  it("are those of the three names that are there, in their order", () => {
    expect(of({ scripts: { test: "node t", start: "node s", build: "node b", prebuild: "x", lint: " " } })).toEqual({
      scripts: ["build", "test"],
      needsPackages: false,
    });
  });

  it("do not hold the test that npm init writes, which always fails", () => {
    expect(of({ scripts: { test: 'echo "Error: no test specified" && exit 1' } })?.scripts).toEqual([]);
  });

  it.each(["dependencies", "devDependencies", "optionalDependencies"])("need packages where there are %s", (key) => {
    expect(of({ scripts: { build: "tsc" }, [key]: { typescript: "5" } })?.needsPackages).toBe(true);
    expect(of({ scripts: {}, [key]: { typescript: "5" } })?.needsPackages).toBe(false);
    expect(of({ scripts: { build: "tsc" }, [key]: {} })?.needsPackages).toBe(false);
  });

  it.each(["", "[]", "null", "{", '"text"'])("are unknown where %o is all that there is", (text) => {
    expect(ownScriptsIn(text)).toBeNull();
  });

  it.each([{}, { scripts: [] }, { scripts: { build: 1 } }, { scripts: null, dependencies: [] }])("are none in %o", (value) => {
    expect(of(value)).toEqual({ scripts: [], needsPackages: false });
  });
});
