// Completions, in the shells themselves: made from the tree of commands, right at every place of the line, and quoted well.
import { execFile, spawnSync } from "node:child_process";
import { mkdtemp, mkdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { Command } from "commander";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createProgram } from "../../../orchestrator/cli.ts";
import { choiceArgument, choiceOption, NamedArgument } from "../../../orchestrator/commands/choices.ts";
import { bashCompletion } from "../../../orchestrator/commands/completion-bash.ts";
import { fishCompletion } from "../../../orchestrator/commands/completion-fish.ts";
import { type CommandNode, commandNodes } from "../../../orchestrator/commands/completion-tree.ts";
import { zshCompletion } from "../../../orchestrator/commands/completion-zsh.ts";

const run = promisify(execFile);
const TIMEOUT_MS = 20_000;
const hasShell = (name: string): boolean => spawnSync(name, ["-c", "true"]).status === 0;

const nodes = commandNodes(await createProgram(() => undefined));

/** A command whose descriptions try to break out of the script. */
function hostileNodes(): CommandNode[] {
  const program = new Command("orchestrator");
  program
    .command("go")
    .description(`It's "quoted" $(touch broken) \`touch broken\` \\ and 100 % [bracketed] {braced}`)
    .addArgument(choiceArgument("<where>", "it's", ["here", "there"]))
    .addOption(choiceOption("--how <way>", `in $HOME's "way"`, ["fast", "slow"]))
    .action(() => undefined);
  return commandNodes(program);
}

let folder = "";
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "orchestrator-completion-"));
});
afterEach(async () => {
  await rm(folder, { recursive: true });
});

describe("the tree of commands", () => {
  const nodeAt = (path: string): CommandNode | undefined => nodes.find((node) => node.path === path);

  it("knows every command, those below others and help", () => {
    expect(nodes.map(({ path }) => path)).toEqual(
      expect.arrayContaining(["", "app", "app create", "app domain", "app domain add", "deploy", "gateway restart", "help", "app help"]),
    );
  });

  it("knows which options take what", () => {
    const options = nodeAt("rollback")?.options ?? [];
    expect(options.find(({ names }) => names.includes("--environment"))?.values).toEqual({
      kind: "names",
      names: ["staging", "production"],
    });
    expect(options.find(({ names }) => names.includes("--home"))?.values).toEqual({ kind: "folders" });
    expect(options.find(({ names }) => names.includes("--json"))?.values).toBeNull();
    expect(options.find(({ names }) => names.includes("--app"))?.values).toEqual({ kind: "any" });
  });

  it("knows arguments: a few values, files, folders, others, and how many", () => {
    expect(nodeAt("gateway restart")?.arguments).toEqual([
      { values: { kind: "names", names: ["staging", "production"] }, isRepeated: false },
    ]);
    expect(nodeAt("deploy")?.arguments[0]?.values).toEqual({ kind: "folders" });
    expect(nodeAt("backup")?.arguments[0]?.values).toEqual({ kind: "files" });
    expect(nodeAt("data rm")?.arguments.map(({ isRepeated }) => isRepeated)).toEqual([false, true]);
  });

  it("names environments where a release can be given, too", () => {
    const program = new Command("x");
    program.command("y").addArgument(new NamedArgument("[from]", "a release", ["staging"]));
    expect(commandNodes(program)[1]?.arguments[0]?.values).toEqual({ kind: "names", names: ["staging"] });
  });
});

describe("in bash", () => {
  /** What is offered for the last word of a line. */
  async function offered(words: readonly string[], all: readonly CommandNode[] = nodes): Promise<string[]> {
    const script = `${bashCompletion(all)}
COMP_WORDS=(orchestrator "$@"); COMP_CWORD=$#
_orchestrator
printf '%s\\n' "\${COMPREPLY[@]}"`;
    const { stdout } = await run("bash", ["--norc", "-c", script, "bash", ...words], { cwd: folder, timeout: TIMEOUT_MS });
    return stdout.split("\n").filter((line) => line !== "");
  }

  it("is there for the command", async () => {
    const { stdout } = await run("bash", ["--norc", "-c", `${bashCompletion(nodes)}\ncomplete -p orchestrator`], { timeout: TIMEOUT_MS });
    expect(stdout).toBe("complete -F _orchestrator orchestrator\n");
  });

  it.each([
    ["a command", ["de"], ["deploy", "deliveries", "delivery"]],
    ["a command below another", ["app", ""], ["create", "ls", "rm", "domain", "help"]],
    ["a command two below", ["app", "domain", "a"], ["add"]],
    ["a command for help", ["help", "del"], ["deliveries", "delivery"]],
    ["an option", ["rollback", "--en"], ["--environment"]],
    ["an option behind arguments and other options", ["deploy", "--message", "rollback", "my-app", "--pro"], ["--promote"]],
    ["the value of an option", ["rollback", "--environment", ""], ["staging", "production"]],
    ["the value of an option behind =, which bash makes a word", ["rollback", "--environment", "="], ["staging", "production"]],
    ["the beginning of such a value", ["rollback", "--environment", "=", "p"], ["production"]],
    ["an option behind such a value", ["rollback", "--environment", "=", "staging", "--js"], ["--json"]],
    ["an argument", ["gateway", "restart", ""], ["staging", "production"]],
    ["a second argument", ["diff", "production", "s"], ["staging"]],
    ["nothing where only its author knows", ["app", "rm", ""], []],
    ["nothing for a repeated argument that only its author knows", ["data", "rm", "people", "ada", ""], []],
    ["nothing for the value of such an option", ["deploy", "--app", ""], []],
    ["the shells", ["completion", ""], ["bash", "zsh", "fish"]],
  ])("offers %s", async (_what, words, expected) => {
    expect(await offered(words)).toEqual(expected);
  });

  it("offers options where there is no argument to give", async () => {
    expect(await offered(["releases", ""])).toEqual(["-n", "--count", "--app", "--home", "--api-port", "--json", "-h", "--help"]);
  });

  it("offers files and folders, with spaces in their names", async () => {
    await mkdir(join(folder, "my app"));
    await writeFile(join(folder, "my file"), "");
    expect(await offered(["deploy", "m"])).toEqual(["my app"]);
    expect(await offered(["deploy", "--home", "m"])).toEqual(["my app"]);
    expect((await offered(["backup", "m"])).toSorted()).toEqual(["my app", "my file"]);
  });

  it("runs nothing of what descriptions say", async () => {
    expect(await offered(["go", ""], hostileNodes())).toEqual(["here", "there"]);
    expect(await offered(["broken"], hostileNodes())).toEqual([]);
    await expect(run("ls", [folder])).resolves.toMatchObject({ stdout: "" });
  });
});

describe("in zsh", () => {
  it("is written in what bash takes for correct, too", async () => {
    for (const all of [nodes, hostileNodes()])
      await expect(run("bash", ["-n", "-c", zshCompletion(all)], { timeout: TIMEOUT_MS })).resolves.toMatchObject({ stderr: "" });
  });

  /** The last word of a line is the one that is completed. What the shell would show is printed instead. */
  async function offered(words: readonly string[], all: readonly CommandNode[] = nodes): Promise<string[]> {
    const script = `compdef() { :; }
_describe() { print -rl -- "\${(@P)argv[-1]}"; }
_files() { print -r -- files "$@"; }
compset() { :; }
${zshCompletion(all)}
words=(orchestrator "$@"); CURRENT=$#words
_orchestrator`;
    const { stdout } = await run("zsh", ["-f", "-c", script, "zsh", ...words], { cwd: folder, timeout: TIMEOUT_MS }).catch(
      (error: { stdout: string }) => error, // It returns 1 where there is nothing to offer.
    );
    return stdout.split("\n").filter((line) => line !== "");
  }

  // Without a zsh on this machine, only bash looks at the script: above.
  describe.each(["zsh"].filter(hasShell))("%s itself", () => {
    it.each([
      ["commands with what they do", ["delivery", "c"], "cancel:Stops a delivery that waits or runs"],
      ["options with what they do", ["rollback", "--"], "--environment:where"],
      ["values", ["rollback", "--environment", ""], "staging"],
      ["values behind =", ["rollback", "--environment=p"], "production"],
      ["arguments", ["gateway", "restart", ""], "staging"],
      ["folders", ["deploy", ""], "files -/"],
      ["files", ["backup", ""], "files"],
    ])("offers %s", async (_what, words, expected) => {
      expect(await offered(words)).toContain(expected);
    });

    it("offers nothing where only its author knows", async () => {
      expect(await offered(["app", "rm", ""])).toEqual([]);
    });

    it("runs nothing of what descriptions say", async () => {
      expect((await offered([""], hostileNodes()))[0]).toMatch(/^go:It's "quoted" \$/);
      await expect(run("ls", [folder])).resolves.toMatchObject({ stdout: "" });
    });
  });
});

describe("in fish", () => {
  it("ends every block that it begins, and every text", () => {
    for (const all of [nodes, hostileNodes()]) {
      const script = fishCompletion(all)
        .replaceAll(/\\['\\]/g, "")
        .replaceAll(/'[^'\n]*'/g, "text")
        .replaceAll(/^#.*$/gm, "");
      const count = (word: RegExp): number => script.match(word)?.length ?? 0;
      expect(script).not.toContain("'");
      expect(count(/(?:^|;)\s*end\b/gm)).toBe(count(/(?:^|;)\s*(?:function|if|for|switch)\b/gm));
    }
  });

  async function offered(line: string, all: readonly CommandNode[] = nodes): Promise<string[]> {
    await writeFile(join(folder, "orchestrator.fish"), fishCompletion(all));
    const script = 'source orchestrator.fish; rm orchestrator.fish; complete -C "$argv[1]"';
    const options = { cwd: folder, timeout: TIMEOUT_MS, env: { ...process.env, HOME: folder } };
    const { stdout } = await run("fish", ["--no-config", "-c", script, line], options);
    return stdout.split("\n").filter((one) => one !== "");
  }

  // Without a fish on this machine, only the blocks of the script are looked at: above.
  describe.each(["fish"].filter(hasShell))("%s itself", () => {
    it.each([
      ["commands with what they do", "orchestrator delivery c", ["cancel\tStops a delivery that waits or runs"]],
      ["options with what they do", "orchestrator rollback --env", ["--environment\twhere"]],
      ["values", "orchestrator rollback --environment ", ["production", "staging"]],
      ["values behind =", "orchestrator rollback --environment=p", ["--environment=production"]],
      ["arguments", "orchestrator gateway restart ", ["production", "staging"]],
      ["nothing where only its author knows", "orchestrator app rm ", []],
    ])("offers %s", async (_what, line, expected) => {
      expect(await offered(line)).toEqual(expected);
    });

    it("offers folders", async () => {
      await mkdir(join(folder, "my app"));
      await writeFile(join(folder, "my file"), "");
      expect((await offered("orchestrator deploy m")).map((one) => one.split("\t")[0])).toEqual(["my app/"]);
    });

    it("runs nothing of what descriptions say", async () => {
      expect((await offered("orchestrator g", hostileNodes()))[0]).toMatch(/^go\tIt's "quoted" \$/);
      await expect(run("ls", [folder])).resolves.not.toMatchObject({ stdout: expect.stringContaining("broken") as unknown });
    });
  });
});
