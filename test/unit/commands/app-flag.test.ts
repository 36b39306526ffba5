// --app: every command that is about one app passes it on, and asks for the default app without it.
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { runHere, type ScriptedApi, startScriptedApi } from "../../support/scripted-api.ts";

let folder = "";
let api: ScriptedApi;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "orchestrator-app-flag-"));
  await writeFile(join(folder, "documents"), '{"table":"people","key":"ada"}\n');
  api = await startScriptedApi(folder);
});
afterEach(async () => {
  await api.stop();
  await rm(folder, { recursive: true });
});

const COMMANDS: readonly (readonly string[])[] = [
  ["deploy", "."],
  ["deliveries"],
  ["releases"],
  ["diff"],
  ["promote"],
  ["rollback"],
  ["route", "add", "GET /x"],
  ["route", "rm", "GET /x"],
  ["env", "set", "A=1"],
  ["env", "ls"],
  ["env", "rm", "A"],
  ["data", "get", "people", "ada"],
  ["data", "ls"],
  ["data", "ls", "people"],
  ["data", "set", "people", "ada", "{}"],
  ["data", "rm", "people", "ada"],
  ["data", "count", "people"],
  ["data", "export"],
  ["data", "import", "documents"],
  ["backup", "backup.gz"],
];

describe("--app", () => {
  it.each(COMMANDS.map((args) => [args.join(" "), args] as const))("is passed on by %s", async (_name, args) => {
    const placed = args.map((arg) => (["documents", "backup.gz", "."].includes(arg) ? join(folder, arg) : arg));
    for (const [flags, app] of [
      [["--app", "shop"], "shop"],
      [[], null],
    ] as const) {
      await runHere(api, ...placed, ...flags);
      const path = api.asked.at(-1)?.path ?? "";
      expect(new URL(path, "http://localhost").searchParams.get("app")).toBe(app);
    }
    expect(api.asked).toHaveLength(2);
  });
});
