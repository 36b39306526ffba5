// The owner's side of the stores on a real broker: tables, pages, export and import, backup and restore.
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { backupStores } from "../../orchestrator/stores/backup.ts";
import { checkBackup } from "../../orchestrator/stores/backup-reader.ts";
import { encodedAt, placeOf, readDocument, readPage, removeDocuments, writeDocument } from "../../orchestrator/stores/documents.ts";
import { restoreFile, type RestoreMark, type RestoreOutcome, type RestoringVariables } from "../../orchestrator/stores/restore.ts";
import { type BackupVariables, createVariableSeals } from "../../orchestrator/stores/sealed-variables.ts";
import { createStores, type AppStores, type Stores } from "../../orchestrator/stores/stores.ts";
import { listTables } from "../../orchestrator/stores/tables.ts";
import { exportDocuments, importDocuments } from "../../orchestrator/stores/transfer.ts";
import { PlatformError } from "../../runtime-image/contract/errors.ts";
import { layBridge, type Store } from "../../runtime-image/library/bridge.ts";
import { data } from "../../runtime-image/library/data.ts";
import { startStoreWorld, type StoreWorld } from "../support/store-world.ts";

let world: StoreWorld;
let keeper: Stores;
let folder = "";

beforeAll(async () => {
  world = await startStoreWorld();
  keeper = createStores({ url: world.broker.broker.url, signer: world.broker.signer });
  folder = await mkdtemp(join(tmpdir(), "orchestrator-keeper-"));
});

afterAll(async () => {
  await keeper.close();
  await world.close();
  await rm(folder, { recursive: true });
});

/** An app of its own, as its functions and as its owner see it. */
async function app(appId: string): Promise<{ functions: Store; owner: AppStores }> {
  const functions = await world.store({ appId });
  layBridge({ environment: "staging", appName: appId, secret: "00".repeat(32), currentRequest: () => null, store: functions }, () => null);
  return { functions, owner: await keeper.of(appId, "staging") };
}

async function exported(owner: AppStores, table: string | null = null): Promise<string> {
  const lines: string[] = [];
  for await (const line of await exportDocuments(owner, table)) if (line.kind === "document") lines.push(JSON.stringify(line.document));
  return lines.join("\n");
}

const linesOf = (documents: readonly object[]): string => documents.map((document) => `${JSON.stringify(document)}\n`).join("");
const imported = async (owner: AppStores, text: string) =>
  importDocuments(
    owner.store,
    (async function* () {
      yield Buffer.from(text);
    })(),
  );

const ORIGIN = { appName: "app", environment: "staging", createdAt: new Date(0).toISOString() } as const;

async function backedUp(owner: AppStores, name: string, variables?: BackupVariables): Promise<string> {
  const path = join(folder, name);
  const stream = await backupStores(owner, { ...ORIGIN, ...(variables === undefined ? {} : { variables }) });
  await writeFile(path, await buffer(stream));
  return path;
}

interface RestoreTestOptions {
  readonly isReplacing?: boolean;
  readonly mark?: { value: RestoreMark | null };
  readonly signal?: AbortSignal;
  readonly variables?: RestoringVariables;
}

const NO_VARIABLES: RestoringVariables = {
  now: async () => ({}),
  replace: async () => Promise.reject(new Error("there are none")),
  open: null,
};

async function restored(owner: AppStores, path: string, options: RestoreTestOptions = {}): Promise<RestoreOutcome> {
  const mark = options.mark ?? { value: null };
  return restoreFile(path, {
    stores: owner,
    variables: options.variables ?? NO_VARIABLES,
    marks: {
      read: async () => mark.value,
      write: async (value) => void (mark.value = value),
      remove: async () => void (mark.value = null),
    },
    nowEpochMs: 0,
    isReplacing: options.isReplacing ?? false,
    signal: options.signal ?? new AbortController().signal,
    progress: () => undefined,
  });
}

describe("the owner of a store", () => {
  it("reads what functions wrote, and functions read what the owner wrote", async () => {
    const { owner } = await app("both");
    await data.set({ table: "Māori", key: "Wai'ale'ale", rain: 11.4 });
    expect(await readDocument(owner.store, placeOf("Māori", "Wai'ale'ale"))).toMatchObject({
      document: { table: "Māori", key: "Wai'ale'ale", rain: 11.4 },
    });
    await writeDocument(owner.store, encodedAt(placeOf("Māori", "Kauaʻi"), { rain: 1 }));
    expect(await data.get({ table: "Māori", key: "Kauaʻi" })).toEqual({ table: "Māori", key: "Kauaʻi", rain: 1 });
    expect(await removeDocuments(owner.store, [placeOf("Māori", "Kauaʻi"), placeOf("Māori", "nowhere")])).toEqual([
      placeOf("Māori", "Kauaʻi"),
    ]);
    expect(await data.get({ table: "Māori", key: "Kauaʻi" })).toBeNull();
  });

  it("writes at a revision or not at all", async () => {
    const { owner } = await app("revisions");
    const encoded = encodedAt(placeOf("t", "k"), { n: 1 });
    const revision = await writeDocument(owner.store, encoded, 0);
    await expect(writeDocument(owner.store, encoded, 0)).rejects.toMatchObject({ code: "DOCUMENT_CHANGED" });
    expect(await writeDocument(owner.store, encoded, revision)).toBeGreaterThan(revision);
  });

  it("is held to the names and sizes that functions are held to", async () => {
    for (const [table, key] of [
      ["", "k"],
      ["t", ""],
      ["t".repeat(51), "k"],
      ["t", "\ud800"],
    ])
      expect(() => placeOf(table, key)).toThrow(expect.objectContaining({ code: "DOCUMENT_INVALID" }));
    expect(() => encodedAt(placeOf("t", "k"), { text: "x".repeat(200_001) })).toThrow("Item too large");
  });

  it("finds every table and how many documents it has, whatever their keys are", async () => {
    const { owner } = await app("tables");
    expect(await listTables(owner.requests)).toEqual([]);
    const many = Array.from({ length: 1_500 }, (_, index) => ({ table: `t${index % 3}`, key: `user-${index}` }));
    const same = Array.from({ length: 30 }, (_, index) => ({ table: `of ${String(index).padStart(2, "0")}`, key: "user-" }));
    await imported(owner, linesOf([...many, ...same, { table: "ä", key: "ü" }]));
    expect(await listTables(owner.requests)).toEqual([
      ...same.map(({ table }) => ({ table, count: 1 })),
      ...["t0", "t1", "t2"].map((table) => ({ table, count: 500 })),
      { table: "ä", count: 1 },
    ]);
  });

  it("pages through a table in the order of keys, from a beginning on, with the cursors of functions", async () => {
    const { owner } = await app("pages");
    await imported(owner, linesOf(["a1", "a2", "a3", "b1"].map((key) => ({ table: "t", key }))));
    const first = await readPage(owner.store, { table: "t", begin: "a", limit: 2 });
    expect(first.documents.map(({ key }) => key)).toEqual(["a1", "a2"]);
    expect((await readPage(owner.store, { table: "t", begin: "a", cursor: first.cursor })).documents).toEqual([{ table: "t", key: "a3" }]);
    expect(await data.get({ table: "t", cursor: first.cursor })).toEqual([
      { table: "t", key: "a3" },
      { table: "t", key: "b1" },
    ]);
    await expect(readPage(owner.store, { table: "t", cursor: "nonsense" })).rejects.toMatchObject({ code: "DOCUMENT_INVALID" });
  });

  it("is not given what has expired, and is told of what is no document", async () => {
    const { owner, functions } = await app("odd");
    await data.set({ table: "t", key: "gone", ttl: 1 });
    await functions.put("data", "74.ff", Buffer.from("no document"));
    await data.set({ table: "t", key: "here" });
    const kinds: string[] = [];
    for await (const { kind } of await exportDocuments(owner, null)) kinds.push(kind);
    expect(kinds).toEqual(["begin", "document", "unreadable", "end"]);
    expect((await readPage(owner.store, { table: "t" })).documents).toEqual([{ table: "t", key: "here" }]);
  });
});

describe("an export", () => {
  it("holds every document in order, and imported elsewhere gives the same export", async () => {
    const { owner } = await app("from");
    const documents = Array.from({ length: 2_500 }, (_, index) => ({ table: `t${index % 2}`, key: `k${index}`, n: index, "1": "ä\n" }));
    await imported(owner, linesOf(documents.toReversed()));
    const text = await exported(owner);
    const places = text.split("\n").map((line) => JSON.parse(line) as { table: string; key: string }); // exportDocuments() wrote them.
    expect(places.length).toBe(2_500);
    expect(places.map(({ table, key }) => `${table} ${key}`)).toEqual(documents.map(({ table, key }) => `${table} ${key}`).toSorted());
    const other = await app("to");
    await imported(other.owner, `${text}\n`);
    expect(await exported(other.owner)).toBe(text);
    expect(await exported(other.owner, "t1")).toBe(
      text
        .split("\n")
        .filter((line) => line.includes('"table":"t1"'))
        .join("\n"),
    );
  });
});

describe("an import", () => {
  it("names every bad line and writes the good ones", async () => {
    const { owner } = await app("lines");
    const lines = [
      '{"table":"t","key":"1"}',
      "",
      "no json",
      "[]",
      '{"table":"t"}',
      `{"table":"t","key":"2","x":"${"x".repeat(200_000)}"}`,
      '{"table":"t","key":"3"}',
    ];
    const outcome = await imported(owner, lines.join("\r\n"));
    expect(outcome).toMatchObject({ writtenCount: 2, badCount: 4 });
    expect(outcome.problems.map(({ line }) => line)).toEqual([3, 4, 5, 6]);
    expect(await owner.store.count("data", "")).toBe(2);
  });

  it("lets the last of several lines for one document stay", async () => {
    const { owner } = await app("last");
    await imported(owner, linesOf(Array.from({ length: 400 }, (_, n) => ({ table: "t", key: "k", n }))));
    expect(await readDocument(owner.store, placeOf("t", "k"))).toMatchObject({ document: { n: 399 } });
  });
});

describe("a backup", () => {
  it("restored elsewhere gives byte-equal documents and sessions", async () => {
    const { owner, functions } = await app("backed");
    await imported(owner, linesOf(Array.from({ length: 1_200 }, (_, n) => ({ table: `t${n % 5}`, key: `k${n}`, n }))));
    await functions.put("sessions", "a".repeat(64), Buffer.from('{"v":1}'));
    await functions.put("data", "74.ff", Buffer.from([0, 255, 128]));
    const path = await backedUp(owner, "whole");
    expect((await checkBackup(path)).trailer.counts).toEqual({ data: 1_201, sessions: 1 });
    const other = await app("fresh");
    const mark = { value: null };
    expect(await restored(other.owner, path, { mark })).toMatchObject({ removedCount: 0, wentOn: false });
    expect(mark.value).toBeNull();
    expect(await exported(other.owner)).toBe(await exported(owner));
    for (const [bucket, key] of [
      ["sessions", "a".repeat(64)],
      ["data", "74.ff"],
    ] as const)
      expect((await other.functions.get(bucket, key))?.bytes).toEqual((await functions.get(bucket, key))?.bytes);
  });

  it("holds every one of many large documents", async () => {
    const { owner } = await app("large");
    const documents = Array.from({ length: 400 }, (_, n) => ({ table: "t", key: `k${n}`, text: "x".repeat(n * 400) }));
    await imported(owner, linesOf(documents));
    const path = await backedUp(owner, "large");
    expect((await checkBackup(path)).trailer.counts).toEqual({ data: 400, sessions: 0 });
  });

  it("made while functions write misses no document that was there all the time, and has each as a whole", async () => {
    const { owner } = await app("busy");
    await imported(owner, linesOf(Array.from({ length: 800 }, (_, n) => ({ table: "t", key: `k${n}`, n: 0 }))));
    const writers = { areOver: false };
    const writing = (async () => {
      for (let n = 1; !writers.areOver; n += 1) await data.set({ table: "t", key: `k${(n * 7) % 800}`, n, text: "x".repeat(n % 3_000) });
    })();
    const paths = [await backedUp(owner, "busy1"), await backedUp(owner, "busy2"), await backedUp(owner, "busy3")];
    writers.areOver = true;
    await writing;
    for (const path of paths) {
      const other = await app(`copy of ${path.slice(-5)}`.replaceAll(" ", ""));
      await restored(other.owner, path);
      expect(await other.owner.store.count("data", "")).toBe(800);
      expect((await exported(other.owner)).split("\n").length).toBe(800);
    }
  });

  it("that was cut short or altered is refused, and nothing is written", async () => {
    const { owner } = await app("whole");
    await imported(owner, linesOf(Array.from({ length: 50 }, (_, n) => ({ table: "t", key: `k${n}`, n }))));
    const bytes = await readFile(await backedUp(owner, "damaged"));
    const target = await app("untouched");
    const broken = [bytes.subarray(0, -20), bytes.subarray(0, 40), Buffer.alloc(0), Buffer.from("no backup"), altered(bytes)];
    for (const [index, content] of broken.entries()) {
      const path = join(folder, `broken${index}`);
      await writeFile(path, content);
      await expect(restored(target.owner, path)).rejects.toMatchObject({ code: "BACKUP_INVALID" });
    }
    expect(await target.owner.store.count("data", "")).toBe(0);
  });

  it("is not restored over documents, unless they are to be replaced", async () => {
    const { owner } = await app("source");
    await imported(owner, linesOf([{ table: "t", key: "k", n: 1 }]));
    const path = await backedUp(owner, "small");
    const target = await app("target");
    await imported(
      target.owner,
      linesOf([
        { table: "t", key: "k", n: 2 },
        { table: "u", key: "k" },
      ]),
    );
    await target.functions.put("sessions", "id", Buffer.from("{}"));
    await expect(restored(target.owner, path)).rejects.toMatchObject({ code: "RESTORE_REFUSED" });
    expect(await target.owner.store.count("data", "")).toBe(2);
    expect(await restored(target.owner, path, { isReplacing: true })).toMatchObject({ removedCount: 3 });
    expect(await exported(target.owner)).toBe('{"table":"t","key":"k","n":1}');
    expect(await target.owner.store.count("sessions", "")).toBe(0);
  });

  it("that was broken off is restored by the same command, and leaves no mark behind", async () => {
    const { owner } = await app("long");
    await imported(owner, linesOf(Array.from({ length: 600 }, (_, n) => ({ table: "t", key: `k${n}`, n }))));
    const path = await backedUp(owner, "long");
    const target = await app("broken");
    const mark: { value: RestoreMark | null } = { value: null };
    const ending = new AbortController();
    const counting = (async () => {
      while ((await target.owner.store.count("data", "")) < 100);
      ending.abort();
    })();
    await expect(restored(target.owner, path, { mark, signal: ending.signal })).rejects.toThrow("aborted");
    await counting;
    expect(mark.value).not.toBeNull();
    expect(await restored(target.owner, path, { mark })).toMatchObject({ wentOn: true });
    expect(mark.value).toBeNull();
    expect(await exported(target.owner)).toBe(await exported(owner));
  });
});

describe("a backup with variables", () => {
  const seals = createVariableSeals({ costLog2: 14, blockSize: 8, parallelization: 1 });
  const passphrase = "correct horse";
  const backedUpWith = async (appId: string): Promise<string> => {
    const { owner } = await app(appId);
    await imported(owner, linesOf([{ table: "t", key: "k" }]));
    return backedUp(owner, appId, await seals.seal({ A: "1", B: "2" }, { passphrase, origin: ORIGIN }));
  };
  const opening =
    (given: string): RestoringVariables["open"] =>
    async (sealed, origin) =>
      seals.open(sealed, { passphrase: given, origin });

  it("puts them in effect before anything else, and writes nothing where functions do not start with them", async () => {
    const path = await backedUpWith("sealed");
    const target = await app("unwilling");
    const mark: { value: RestoreMark | null } = { value: null };
    const seen: unknown[] = [];
    const variables: RestoringVariables = {
      now: async () => ({}),
      async replace(values) {
        seen.push(values, await target.owner.store.count("data", ""));
        throw new PlatformError("DEPLOY_FAILED");
      },
      open: opening(passphrase),
    };
    await expect(restored(target.owner, path, { mark, variables })).rejects.toMatchObject({ code: "DEPLOY_FAILED" });
    expect(seen).toEqual([{ A: "1", B: "2" }, 0]);
    expect([mark.value, await target.owner.store.count("data", "")]).toEqual([null, 0]);
  });

  it("is refused with another passphrase, also where everything may be replaced", async () => {
    const path = await backedUpWith("closed");
    const target = await app("kept");
    await imported(target.owner, linesOf([{ table: "t", key: "mine" }]));
    const variables = { ...NO_VARIABLES, open: opening("correct house") };
    const restoring = restored(target.owner, path, { isReplacing: true, variables });
    await expect(restoring).rejects.toMatchObject({ code: "PASSPHRASE_WRONG" });
    expect(await exported(target.owner)).toBe('{"table":"t","key":"mine"}');
  });

  it("is not restored over variables that it would change, and names them", async () => {
    const path = await backedUpWith("named");
    const target = await app("variables");
    const replaced: unknown[] = [];
    const over = (values: Readonly<Record<string, string>>): RestoringVariables => ({
      now: async () => values,
      async replace(given) {
        replaced.push(given);
        return { environment: "staging", changed: [], failures: [] };
      },
      open: opening(passphrase),
    });
    await expect(restored(target.owner, path, { variables: over({ A: "1", B: "3", C: "4" }) })).rejects.toMatchObject({
      code: "RESTORE_REFUSED",
      detail: { detail: "Variables are set there that the backup would change: B, C." },
    });
    expect(replaced).toEqual([]);
    expect(await restored(target.owner, path, { variables: over({ A: "1" }) })).toMatchObject({
      variables: { kind: "restored", count: 2, failures: [] },
    });
    expect(await restored(target.owner, path, { isReplacing: true, variables: over({ C: "4" }) })).toMatchObject({ removedCount: 1 });
    expect(replaced).toEqual([
      { A: "1", B: "2" },
      { A: "1", B: "2" },
    ]);
  });

  it("brings its documents back without a passphrase, and leaves variables alone", async () => {
    const path = await backedUpWith("half");
    const target = await app("documents");
    const variables = { ...NO_VARIABLES, now: async () => ({ A: "mine" }) };
    expect(await restored(target.owner, path, { variables })).toMatchObject({ variables: { kind: "closed", count: 2 } });
    expect(await target.owner.store.count("data", "")).toBe(1);
  });
});

/** One byte of the compressed text is another; the frame stays as it is. */
function altered(bytes: Buffer): Buffer {
  const copy = Buffer.from(bytes);
  const place = Math.floor(copy.length / 2);
  copy[place] = (copy[place] ?? 0) ^ 1;
  return copy;
}
