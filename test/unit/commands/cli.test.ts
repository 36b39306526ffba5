// The command line as a whole: help that is grouped and has examples which are right, exit codes, and docs/cli.md, which names every command.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type Command, CommanderError } from "commander";
import { describe, expect, it } from "vitest";
import { PlatformError } from "../../../runtime-image/contract/errors.ts";
import { EXIT_CODES, exitCodeFor } from "../../../orchestrator/commands/exit-codes.ts";
import { leaves, problemsOf, program } from "../../support/command-lines.ts";
import { CHECKOUT } from "../../support/platform.ts";
import { runHere } from "../../support/scripted-api.ts";

function helpOf(command: Command): string {
  let text = "";
  command.configureOutput({ writeOut: (part) => void (text += part) }).outputHelp();
  return text;
}

describe("every command", () => {
  it.each(leaves)("$path has an example of its own, and none that cannot be run", ({ path, command }) => {
    const lines = helpOf(command)
      .split("\n")
      .filter((line) => /^ {2}(?:\S+ <\()?(?:[A-Z_]+=\S+ )?orchestrator /.test(line));
    expect(lines.filter((line) => line.includes(`orchestrator ${path}`))).not.toEqual([]);
    expect(lines.flatMap(problemsOf)).toEqual([]);
  });

  it.each(leaves)("$path says what it does in a sentence", ({ command }) => {
    expect(command.description()).toMatch(/^[A-Z].+\.$/s);
  });
});

describe("orchestrator --help", () => {
  const help = helpOf(program);

  it("shows commands in groups, and each of them", () => {
    const groups = help.split("\n").filter((line) => /^\S.*:$/.test(line));
    expect(groups).toEqual(["Options:", "Begin:", "Apps, from a folder to production:", "What runs:", "The platform:", "Exit codes:"]);
    for (const { path } of leaves) expect(help).toMatch(new RegExp(`^ {2}${path.split(" ")[0] ?? ""}\\b`, "m"));
  });

  it("tells every exit code", () => {
    for (const [code, meaning] of EXIT_CODES) expect(help).toContain(`  ${String(code).padEnd(5)}${meaning}\n`);
  });
});

describe("an exit code", () => {
  it.each([
    [new PlatformError("USAGE"), 2],
    [new PlatformError("SETTING_INVALID"), 2],
    [new PlatformError("DEPLOY_FAILED"), 1],
    [new PlatformError("NOT_RUNNING"), 1],
    [new Error("a bug"), 1],
    [new CommanderError(1, "commander.unknownOption", "x"), 2],
    [new CommanderError(0, "commander.helpDisplayed", "x"), 0],
  ])("of %s is %i", (error, exitCode) => {
    expect(exitCodeFor(error)).toBe(exitCode);
  });

  it("that a command can end with is a known one, once", () => {
    expect(EXIT_CODES.map(([code]) => code)).toEqual([0, 1, 2, 3, 130]);
  });
});

describe("a command that is not there", () => {
  it.each([
    [["releses"], "unknown command 'releses'", "Did you mean releases?"],
    [["app", "domain", "ad"], "unknown command 'ad'", "Did you mean add?"],
    [["rollback", "--enviroment", "staging"], "unknown option '--enviroment'", "Did you mean --environment?"],
  ])("%j is answered with what was perhaps meant, and 2", async (args, problem, suggestion) => {
    const { exitCode, stderr } = await runHere({ port: 1 }, ...args);
    expect(exitCode).toBe(2);
    expect(stderr).toContain(problem);
    expect(stderr).toContain(suggestion);
  });
});

describe("a command whose reader goes away", () => {
  it("ends at once, as programs in a pipe do, without a stack", async () => {
    const child = spawn(process.execPath, [join(CHECKOUT, "orchestrator/bin.mjs"), "--help"], { stdio: ["ignore", "pipe", "pipe"] });
    child.stdout.destroy();
    let complaint = "";
    child.stderr.setEncoding("utf8").on("data", (part: string) => (complaint += part));
    await once(child, "close");
    expect([child.exitCode, complaint]).toEqual([141, ""]);
  });
});

describe("docs/cli.md", () => {
  const page = readFileSync(join(CHECKOUT, "docs/cli.md"), "utf8");
  const rows = page.split("\n").flatMap((line) => {
    const [, usage, example] = /^\| `([a-z][^`]*)` \| [^|`]+ \| `(orchestrator [^`]+)` \|$/.exec(line) ?? [];
    return usage === undefined || example === undefined ? [] : [{ usage, example }];
  });

  it("has a row for every command, in the order of help, and no other", () => {
    expect(rows.map(({ usage }) => usage)).toEqual(leaves.map(({ usage }) => usage));
  });

  it.each(rows)("shows an example of $usage that can be run", ({ usage, example }) => {
    expect(example.startsWith(`orchestrator ${usage.split(/ [<[]/)[0] ?? ""}`)).toBe(true);
    expect(problemsOf(example)).toEqual([]);
  });

  it("tells every exit code", () => {
    const told = [...page.matchAll(/^\| (\d+) \| (.+) \|$/gm)].map(([, code, meaning]) => [Number(code), meaning]);
    expect(told).toEqual(EXIT_CODES);
  });
});
