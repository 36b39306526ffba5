// The environment variables in a backup, as their owner has to do with them: encrypted, put back in effect on a fresh home, and seen nowhere.
import { readdir, readFile, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gunzipSync, gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { VariableValues } from "../../orchestrator/variables/change.ts";
import { type HostedWorld, startHostedWorld } from "../support/hosted-world.ts";
import { type Finished, send } from "../support/platform.ts";

const SECRET = "s3cret-of-the-shop";
const PASSPHRASE = "correct horse battery";
const WRONG = "correct horse cavalry";
const VALUES: VariableValues = { API_KEY: SECRET, PEM: "-----BEGIN\nKEY-----\n", EMPTY: "" };

let world: HostedWorld;
let folder = "";
let passphraseFile = "";
let wrongFile = "";

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "orchestrator-sealed-"));
  passphraseFile = join(folder, "passphrase");
  wrongFile = join(folder, "wrong");
  await writeFile(passphraseFile, `${PASSPHRASE}\n`);
  await writeFile(wrongFile, WRONG);
  world = await startHostedWorld(["shop"]);
  await world.api.patch("/api/variables/staging", { set: VALUES });
  await world.api.put("/api/data/staging/document", { table: "t", key: "k", document: {} });
});

afterAll(async () => {
  await world.close();
  await rm(folder, { recursive: true, force: true });
});

const valuesOf = async ({ hosting }: HostedWorld): Promise<VariableValues> => hosting.app().variables.keptValues("staging");
const documentCount = async ({ api }: HostedWorld): Promise<unknown> => api.get("/api/data/staging/count?table=t");
const whole = (): string => join(folder, "whole.gz");

/** Another home, with other keys, where nothing is yet. */
async function onFreshHome(work: (fresh: HostedWorld) => Promise<void>): Promise<void> {
  const fresh = await startHostedWorld(["shop"]);
  try {
    await work(fresh);
  } finally {
    await fresh.close();
  }
}

describe("a backup made with a passphrase", () => {
  let made: Finished;

  beforeAll(async () => {
    made = await world.run(["backup", whole(), "--passphrase-file", passphraseFile]);
  });

  it("says what is in it, and shows no value to whoever has the file", async () => {
    expect([made.exitCode, made.stderr]).toEqual([0, ""]);
    expect(made.stdout).toMatch(/^staging: 1 document and 0 sessions in .*\nstaging: 3 environment variables in it, encrypted/);
    const text = gunzipSync(await readFile(whole())).toString("latin1");
    for (const secret of [SECRET, Buffer.from(SECRET).toString("base64").slice(0, 20), "API_KEY", PASSPHRASE])
      expect(text).not.toContain(secret);
  });

  it("brings them back on a fresh home, with its documents", async () => {
    await onFreshHome(async (fresh) => {
      const restored = await fresh.run(["restore", whole(), "--passphrase-file", passphraseFile]);
      expect([restored.exitCode, restored.stderr]).toEqual([0, ""]);
      expect(restored.stdout).toContain("staging: functions run with 3 environment variables of the backup\n");
      expect(await valuesOf(fresh)).toEqual(VALUES);
      expect(await documentCount(fresh)).toEqual({ count: 1 });
      const listed = await fresh.run(["env", "ls", "--environment", "staging"]);
      expect(listed.stdout).toMatch(/^API_KEY +staging +set .* home$/m);
    });
  });

  it("is refused with a wrong passphrase before anything is written, and restored without one but for its variables", async () => {
    await onFreshHome(async (fresh) => {
      const refused = await fresh.run(["restore", whole(), "--replace", "--passphrase-file", wrongFile]);
      expect([refused.exitCode, refused.stderr]).toEqual([1, expect.stringContaining("PASSPHRASE_WRONG")]);
      expect([await valuesOf(fresh), await documentCount(fresh)]).toEqual([{}, { count: 0 }]);
      expect(await fresh.api.get("/api/restore/staging")).toEqual({ kind: "none" });
      const restored = await fresh.run(["restore", whole()]);
      expect([restored.exitCode, restored.stderr]).toEqual([
        0,
        "3 environment variables of the backup left out, for want of its passphrase: --passphrase-file <file>\n",
      ]);
      expect([await valuesOf(fresh), await documentCount(fresh)]).toEqual([{}, { count: 1 }]);
    });
  });

  it("is not restored over other variables, unless they are to be replaced", async () => {
    await onFreshHome(async (fresh) => {
      await fresh.api.patch("/api/variables/staging", { set: { API_KEY: "of the new home", OTHER: "1" } });
      const args = ["restore", whole(), "--passphrase-file", passphraseFile];
      const refused = await fresh.run(args);
      expect([refused.exitCode, refused.stderr]).toEqual([1, expect.stringContaining("would change: API_KEY, OTHER.")]);
      expect(await documentCount(fresh)).toEqual({ count: 0 });
      expect((await fresh.run([...args, "--replace"])).exitCode).toBe(0);
      expect(await valuesOf(fresh)).toEqual(VALUES);
      expect((await fresh.run([...args, "--replace", "--json"])).stdout).toContain(
        '"variables":{"kind":"restored","count":3,"failures":[]}',
      );
    });
  });

  it("leaves neither values nor passphrases in the audit log, or anywhere else in the homes", async () => {
    const names: string[] = [];
    for (const home of [world.rig.home, world.brokerHome])
      for (const entry of await readdir(home, { recursive: true, withFileTypes: true })) {
        if (!entry.isFile()) continue;
        names.push(entry.name);
        const bytes = await readFile(join(entry.parentPath, entry.name));
        for (const secret of [SECRET, PASSPHRASE, Buffer.from(PASSPHRASE).toString("base64")])
          expect([entry.name, bytes.includes(secret)]).toEqual([entry.name, false]);
      }
    expect(names).toContain("audit.ndjson");
  });
});

describe("a backup made without a passphrase", () => {
  it("says that variables are left out, and so does its restore", async () => {
    const file = join(folder, "without.gz");
    const made = await world.run(["backup", file]);
    expect([made.exitCode, made.stderr]).toEqual([
      0,
      "staging: 3 environment variables left out, for want of a passphrase: --passphrase-file <file>\n",
    ]);
    await onFreshHome(async (fresh) => {
      const restored = await fresh.run(["restore", file, "--passphrase-file", passphraseFile]);
      expect([restored.exitCode, restored.stderr]).toEqual([
        0,
        "the backup was made without the 3 environment variables that were set then\n",
      ]);
      expect([await valuesOf(fresh), await documentCount(fresh)]).toEqual([{}, { count: 1 }]);
    });
  });

  it("says nothing of variables where none are set, and neither do files of the first days", async () => {
    const file = join(folder, "none.gz");
    const made = await world.run(["backup", file, "--environment", "production"]);
    expect([made.exitCode, made.stderr]).toEqual([0, ""]);
    const [header] = gunzipSync(await readFile(file))
      .toString("utf8")
      .split("\n");
    expect(Object.keys(JSON.parse(header ?? "") as object)).toEqual(["orchestratorBackup", "appName", "environment", "createdAt"]);
    const restored = await world.run(["restore", file, "--environment", "production"]);
    expect([restored.exitCode, restored.stderr]).toEqual([0, ""]);
  });
});

describe("a passphrase", () => {
  it("that is too short, of several lines, or no text is refused before anything is asked or written, and not said back", async () => {
    const file = join(folder, "bad");
    for (const [content, problem] of [
      ["hunter2\n", "at least 8 characters"],
      ["hunter2hunter2\nhunter2\n", "one line"],
      ["hunter2".repeat(1_000), "at most 1024 bytes"],
      [Buffer.from([255, 254, 1, 2, 3, 4, 5, 6, 7, 8]), "cannot be read as a passphrase"],
    ] as const) {
      await writeFile(file, content);
      const refused = await world.run(["backup", join(folder, "never.gz"), "--passphrase-file", file]);
      expect([refused.exitCode, refused.stderr]).toEqual([2, expect.stringContaining(problem)]);
      expect(refused.stderr).not.toContain("hunter2");
    }
    expect((await world.run(["backup", join(folder, "never.gz"), "--passphrase-file", join(folder, "nowhere")])).exitCode).toBe(2);
    expect(await readdir(folder)).not.toContain("never.gz");
  });

  it("gives nothing to a token that may only look", async () => {
    const headers = {
      authorization: `Bearer ${world.rig.lookersToken}`,
      host: `localhost:${world.rig.port}`,
      "x-orchestrator-passphrase": Buffer.from(PASSPHRASE).toString("base64"),
    };
    const answer = await send(world.rig.port, "/api/backup/staging", { headers });
    expect([answer.status, JSON.parse(answer.text)]).toMatchObject([403, { code: "API_FORBIDDEN" }]);
  });

  it("has no key derived for it at a cost that a file only pretends to need", async () => {
    const [header = "", ...rest] = gunzipSync(await readFile(whole()))
      .toString("utf8")
      .split("\n");
    const file = join(folder, "costly.gz");
    await writeFile(file, gzipSync([header.replace('"costLog2":17', '"costLog2":30'), ...rest].join("\n")));
    const headers = {
      authorization: `Bearer ${world.rig.token}`,
      host: `localhost:${world.rig.port}`,
      "content-type": "application/gzip",
      "x-orchestrator-passphrase": Buffer.from(PASSPHRASE).toString("base64"),
    };
    const answer = await send(world.rig.port, "/api/restore/staging?replace=true", { method: "POST", headers, body: await readFile(file) });
    expect(JSON.parse(answer.text)).toMatchObject({
      code: "BACKUP_INVALID",
      detail: expect.stringContaining("cost that is not taken") as unknown,
    });
    expect(await documentCount(world)).toEqual({ count: 1 });
  });
});
