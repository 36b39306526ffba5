// Files with environment variables: what is read from them, for which environment, and what is said without showing a value.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseEnv } from "node:util";
import fc from "fast-check";
import { describe, expect, it, onTestFinished } from "vitest";
import { checkVariables, readVariables } from "../../../orchestrator/apps/variables.ts";
import { parseEnvText, parsePreferencesText } from "../../../orchestrator/apps/variables-text.ts";
import { writeFiles } from "../../support/platform.ts";

const check = (text: string) => checkVariables([{ fileName: ".env", ...parseEnvText(text) }]);

const staging = (text: string): Record<string, string> => {
  const { value, problems } = check(text);
  expect(problems).toEqual([]);
  return { ...value.staging };
};

describe(".env", () => {
  it.each<[string, string, Record<string, string>]>([
    ["plain lines", "A=1\nB_2=two words\n", { A: "1", B_2: "two words" }],
    ["spaces around", "  A = 1  \n", { A: "1" }],
    ["export", "export A=1\n", { A: "1" }],
    ["comments and empty lines", "# x\n\nA=1 # one\nB=a#b\nC= # nothing\n", { A: "1", B: "a#b", C: "" }],
    ["nothing after the sign", "A=\nB=2", { A: "", B: "2" }],
    ["more signs", "URL=http://x.example/?a=b&c=d\n", { URL: "http://x.example/?a=b&c=d" }],
    ["double quotes", 'A=" a # b " # c\nB="x\\ny\\t\\"z\\"\\\\ \\d"\n', { A: " a # b ", B: 'x\ny\t"z"\\ \\d' }],
    ["single quotes and backticks", "A='it\\n\"is\"'\nB=`it's`\n", { A: 'it\\n"is"', B: "it's" }],
    ["several lines", 'A="-----BEGIN\nabc=\n-----END"\nB=2\n', { A: "-----BEGIN\nabc=\n-----END", B: "2" }],
    ["Windows line ends and a byte order mark", "\uFEFFA=1\r\nB=2\r\n", { A: "1", B: "2" }],
    ["a key twice", "A=1\nA=2\n", { A: "2" }],
    ["no expansion", "A=$HOME ${B}\n", { A: "$HOME ${B}" }],
  ])("is read with %s", (_what, text, expected) => {
    expect(staging(text)).toEqual(expected);
  });

  it("tells environments apart", () => {
    const { value, problems, warnings } = check("A=both\nB=both\n@testing\nA=test\n@staging\nB=stage\nC stage only\n@production\nB=prod\n");
    expect(problems).toEqual([]);
    expect(value).toEqual({ staging: { A: "both", B: "stage", C: "stage only" }, production: { A: "both", B: "prod" } });
    expect(warnings).toEqual(['.env: what stands below "testing" is not used; there are staging and production']);
  });

  it("lets an app say what it is told anyway, without effect", () => {
    const { value, problems, warnings } = check("NODE_ENV=testing\nARC_ENV=testing\nA=1\n");
    expect([value.staging, problems]).toEqual([{ A: "1" }, []]);
    expect(warnings).toEqual([
      ".env line 1: NODE_ENV is ignored; it is always the environment's name",
      ".env line 2: ARC_ENV is ignored; it is always the environment's name",
    ]);
  });

  const SECRET = "hunter2";
  it.each([
    [`a=${SECRET}`, "line 1: the key should be capital letters, digits and _, beginning with a letter"],
    [`_A=${SECRET}`, "line 1: the key should be"],
    [`1A=${SECRET}`, "line 1: the key should be"],
    [`A-B=${SECRET}`, "line 1: the key should be"],
    [`${SECRET}==`, "line 1: the key should be"],
    [`${SECRET} ${SECRET}`, "line 1: should be KEY=value"],
    [`=${SECRET}`, "line 1: should be KEY=value"],
    [`\n\nA="${SECRET}`, 'line 3: the quote " is never closed'],
    [`A="x\ny"\nB='${SECRET}' ${SECRET}`, "line 3: something follows the closing '"],
    [`A=${SECRET}\0`, "line 1: the value of A holds a NUL character"],
    [`A=${SECRET.repeat(586)}`, "line 1: the value of A has 4102 bytes; 4096 are allowed"],
    [`@live\nA=${SECRET}`, "line 1: should name testing, staging or production"],
    ...["NODE_OPTIONS", "NODE_PATH", "PATH", "HOME", "LD_PRELOAD", "TZ", "TMPDIR", "ORCHESTRATOR_INSTANCE", "ARC_APP_NAME", "BASH_ENV"].map(
      (key) => [`${key}=${SECRET}`, `line 1: ${key} is read by Node, the shell or the platform itself; choose another name`],
    ),
  ])("has its problem told without its value: %j", (text = "", problem = "") => {
    const { problems } = check(text);
    expect(problems).toEqual([expect.stringContaining(`.env ${problem}`)]);
    expect(problems.join("\n")).not.toContain(SECRET);
  });

  it("may hold 4096 bytes in a value and 256 variables", () => {
    const many = (count: number): string => Array.from({ length: count }, (_, index) => `A${index}=1\n`).join("");
    expect(check(`A=${"é".repeat(2048)}\n`).problems).toEqual([]);
    expect(check(many(256)).problems).toEqual([]);
    expect(check(many(257)).problems).toEqual([
      "staging has 257 variables; 256 are allowed",
      "production has 257 variables; 256 are allowed",
    ]);
  });

  it("is read as Node itself reads it, where both know the form", () => {
    const key = fc.stringMatching(/^[A-Z][A-Z0-9_]{0,6}$/);
    const plain = fc.stringMatching(/^[a-z0-9 .:/?&%=+-]{0,20}$/).map((text) => text.trim());
    const value = fc.oneof(
      plain,
      plain.map((text) => `"${text}"`),
      plain.map((text) => `'${text}'`),
    );
    fc.assert(
      fc.property(fc.array(fc.tuple(key, value)), (pairs) => {
        const text = pairs.map(([name, content]) => `${name}=${content}\n`).join("");
        const own = Object.fromEntries(parseEnvText(text).lines.map((line) => [line.key, line.value]));
        expect(own).toEqual({ ...parseEnv(text) });
      }),
    );
  });

  it("never makes the reader throw, and never loses count of lines", () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom("A", "=", "'", '"', "`", "\n", " ", "#", "@", "\\", "x") }), (text) => {
        const { lines } = parseEnvText(text);
        const all = text.split("\n");
        for (const line of lines) expect(all[line.line - 1]).toContain(line.key);
      }),
    );
  });
});

describe("preferences", () => {
  const PREFERENCES =
    '@sandbox\nlivereload true\n\n@env\ntesting\n  A test\nstaging\n  A "two words"\n  B x@y#z\nproduction\n\tA prod # c\n@create\nautocreate true\n';

  it("have variables below @env, by environment", () => {
    const { value, problems } = checkVariables([{ fileName: "prefs.arc", ...parsePreferencesText(PREFERENCES) }]);
    expect(problems).toEqual([]);
    expect(value).toEqual({ staging: { A: "two words", B: "x@y#z" }, production: { A: "prod" } });
  });

  it.each([
    ["@env\nlive\n  A 1\n", "prefs.arc line 2: should name testing, staging or production"],
    ["@env\nstaging\n  A\n", "prefs.arc line 3: should be KEY=value"],
    ["@env\nstaging\n  path 1\n", "prefs.arc line 3: the key should be"],
  ])("have their problem told in %j", (text, problem) => {
    const { problems } = checkVariables([{ fileName: "prefs.arc", ...parsePreferencesText(text) }]);
    expect(problems).toEqual([expect.stringContaining(problem)]);
  });

  it("win over .arc-env, and .env wins over both, key by key", async () => {
    const folder = await mkdtemp(join(tmpdir(), "orchestrator-variables-"));
    onTestFinished(async () => rm(folder, { recursive: true, force: true }));
    await writeFiles(folder, {
      ".arc-env": "@staging\nA old\nB old\nC old\n",
      "preferences.arc": "@env\nstaging\n  B prefs\n  C prefs\n",
      "prefs.arc": "@env\nstaging\n  C never\n  D never\n",
      ".env": "C=env\n",
    });
    const { value, problems } = await readVariables(folder);
    expect(problems).toEqual([]);
    expect(value).toEqual({ staging: { A: "old", B: "prefs", C: "env" }, production: { C: "env" } });
  });
});
