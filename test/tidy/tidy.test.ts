// The house is tidy: every rule holds for the real source, and every rule catches what is planted for it.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { ERRORS } from "../../runtime-image/contract/errors.ts";
import { packagesMissingInLock, undocumentedErrors, unprovenRules } from "./document-rules.ts";
import { circles, danglingImports, sharedLibraries, wrongDirections } from "./import-rules.ts";
import { CHECKOUT, importsOf, readSourceTree, type SourceTree } from "./source-tree.ts";
import { consoleWriters, environmentReaders, missingFirstSentences, sleepers, tooLongFiles, unusedLimits } from "./text-rules.ts";

const real = readSourceTree();
const LIMITS = "runtime-image/contract/limits.ts";
const planted = (files: Record<string, string>): SourceTree => new Map(Object.entries(files));

interface Rule {
  readonly name: string;
  readonly check: (tree: SourceTree) => string[];
  readonly violation: Record<string, string>;
  readonly caught: RegExp;
}

const RULES: readonly Rule[] = [
  {
    name: "the contract imports nothing but itself",
    check: wrongDirections,
    violation: { "runtime-image/contract/a.ts": 'import { readFile } from "node:fs/promises";' },
    caught: /contract\/a\.ts imports node:fs\/promises/,
  },
  {
    name: "the orchestrator never imports the gateway",
    check: wrongDirections,
    violation: { "orchestrator/up.ts": 'import type {\n  Front,\n} from "../gateway/front.ts";' },
    caught: /orchestrator\/up\.ts imports gateway\/front\.ts/,
  },
  {
    name: "the gateway never imports the orchestrator",
    check: wrongDirections,
    violation: { "gateway/dispatch/a.ts": 'const { x } = await import("../../orchestrator/x.ts");' },
    caught: /gateway\/dispatch\/a\.ts imports orchestrator\/x\.ts/,
  },
  {
    name: "what ships into instances imports nothing from outside",
    check: wrongDirections,
    violation: { "runtime-image/runtime/main.ts": 'export * from "../../gateway/routing/match.ts";' },
    caught: /imports nothing from outside itself/,
  },
  {
    name: "there are no circles, of types neither",
    check: circles,
    violation: {
      "gateway/a.ts": 'import type { B } from "./b.ts";',
      "gateway/b.ts": 'import { c } from "./c.ts";',
      "gateway/c.ts": 'type A = import("./a.ts").A;',
    },
    caught: /^gateway\/a\.ts → gateway\/b\.ts → gateway\/c\.ts → gateway\/a\.ts$/,
  },
  {
    name: "every import leads somewhere",
    check: danglingImports,
    violation: { "gateway/a.ts": 'import "./gone.ts";' },
    caught: /gateway\/gone\.ts, which is not there/,
  },
  {
    name: "a foreign library is imported by one file per room",
    check: sharedLibraries,
    violation: {
      "orchestrator/nats/a.ts": 'import { connect } from "nats";',
      "orchestrator/nats/b.ts": 'import type { Msg } from "nats";',
    },
    caught: /^nats is imported by 2 files of orchestrator\/nats: orchestrator\/nats\/a\.ts, orchestrator\/nats\/b\.ts$/,
  },
  {
    name: "every file begins with a sentence on what it is for",
    check: missingFirstSentences,
    violation: { "gateway/a.ts": 'import "node:fs";\n' },
    caught: /gateway\/a\.ts/,
  },
  {
    name: "no file is longer than 400 lines",
    check: tooLongFiles,
    violation: { "gateway/a.ts": "x;\n".repeat(401) },
    caught: /has 401 lines/,
  },
  {
    name: "only config files read the environment",
    check: environmentReaders,
    violation: { "orchestrator/nats/server.ts": "// A server.\nconst path = process.env.PATH;" },
    caught: /^orchestrator\/nats\/server\.ts:2 /,
  },
  {
    name: "only log.ts writes to the console",
    check: consoleWriters,
    violation: { "gateway/front.ts": "// A front.\n  console.log(1);\n  process.stderr.write(text);" },
    caught: /^gateway\/front\.ts:2 /,
  },
  {
    name: "no test waits for a time instead of a condition",
    check: sleepers,
    violation: { "test/unit/a.test.ts": "// A test.\nawait new Promise((done) => setTimeout(done, 500));" },
    caught: /^test\/unit\/a\.test\.ts:2 /,
  },
  {
    name: "every limit is used",
    check: (tree) => unusedLimits(tree, LIMITS),
    violation: { [LIMITS]: "export const USED_MS = 1;\nexport const UNUSED_MS = 2;", "gateway/a.ts": "wait(USED_MS);" },
    caught: /nothing uses UNUSED_MS$/,
  },
];

describe("the source", () => {
  it.each(RULES)("keeps the rule: $name", ({ check }) => {
    expect(check(real)).toEqual([]);
  });

  it.each(RULES)("cannot break it unnoticed: $name", ({ check, violation, caught }) => {
    expect(check(planted(violation)).join("\n")).toMatch(caught);
  });

  it("was read: it holds the files that everything hangs on", () => {
    expect([...real.keys()]).toEqual(expect.arrayContaining(["orchestrator/bin.mjs", LIMITS, "orchestrator/engines/engine.ts"]));
  });
});

describe("importsOf", () => {
  it("sees every way to import, and no import in a comment", () => {
    const text = [
      'import a from "alpha";',
      'import type { B } from "@scope/beta/deep";',
      'import {\n  c,\n} from "./c.ts";',
      'export { d } from "../d.ts";',
      'import "node:fs";',
      'const e = await import("epsilon");',
      '// import f from "zeta";',
    ].join("\n");
    expect(
      importsOf("gateway/routing/x.ts", text)
        .map((one) => one.target)
        .toSorted(),
    ).toEqual(["alpha", "@scope/beta", "gateway/routing/c.ts", "gateway/d.ts", "node:fs", "epsilon"].toSorted());
  });
});

describe("docs/errors.md", () => {
  const page = readFileSync(join(CHECKOUT, "docs/errors.md"), "utf8");

  it("has a heading for every error code that agrees with the table, and no other", () => {
    expect(undocumentedErrors(ERRORS, page)).toEqual([]);
  });

  it("cannot lose a heading, gain one, or contradict the table unnoticed", () => {
    const table = { GONE: { status: 410, fault: "app", retryable: false }, KEPT: { status: 500, fault: "app", retryable: true } };
    const problems = undocumentedErrors(table, "## KEPT\n500 · app · no retry. …\n\n## EXTRA\n400 · …\n");
    expect(problems).toEqual([
      "EXTRA has a heading but is no error code",
      "GONE has no heading",
      'KEPT should begin with "500 · app · retry."',
    ]);
  });
});

describe("docs/contract.md", () => {
  /** A test's file with the tables that it reads: rows of a table are names of tests, too. */
  const textOf = (name: string): string | null => {
    const file = `test/${name}`;
    const text = real.get(file);
    if (text === undefined) return null;
    const tables = importsOf(file, text).filter(({ kind, target }) => kind === "local" && target.startsWith("test/support/"));
    return [text, ...tables.map(({ target }) => real.get(target) ?? "")].join("\n");
  };

  it("names a test that is there for every rule, or says why there is none", () => {
    expect(unprovenRules(readFileSync(join(CHECKOUT, "docs/contract.md"), "utf8"), textOf)).toEqual([]);
  });

  it("cannot name a test that is gone, or none at all, unnoticed", () => {
    const rows = [
      "| rule | proof |",
      "|---|---|",
      "| a | `unit/a.test.ts › is proven` |",
      "| b | `unit/a.test.ts › was renamed` |",
      "| c | `unit/gone.test.ts › x` |",
      "| d | |",
      "| e | no test: it is about people |",
    ];
    const problems = unprovenRules(rows.join("\n"), (file) => (file === "unit/a.test.ts" ? 'it("is proven", () => {' : null));
    expect(problems).toEqual([
      'line 4: unit/a.test.ts has no test called "was renamed"',
      "line 5: unit/gone.test.ts is not there",
      expect.stringMatching(/^line 6 names no test/),
    ]);
  });
});

describe("package-lock.json", () => {
  it("holds every package of every platform that one of its packages may need", () => {
    const lock: unknown = JSON.parse(readFileSync(join(CHECKOUT, "package-lock.json"), "utf8"));
    expect(packagesMissingInLock(lock as Parameters<typeof packagesMissingInLock>[0])).toEqual([]); // npm's own format.
  });

  it("cannot leave one out unnoticed", () => {
    const lock = { packages: { "node_modules/a": { optionalDependencies: { "a-darwin": "1.0.0" } } } };
    expect(packagesMissingInLock(lock)).toEqual(["node_modules/a may need a-darwin, which package-lock.json leaves out"]);
  });
});
