// The file of a backup, before it is compressed.
import { describe, expect, it } from "vitest";
import { readBackup, writeBackup, type BackupEntry, type BackupFacts } from "../../../orchestrator/stores/backup-file.ts";

const HEADER = { orchestratorBackup: 1, appName: "shop", environment: "production", createdAt: "2026-01-01T00:00:00.000Z" } as const;
const entry = (key: string, bytes: Uint8Array | string, bucket: BackupEntry["bucket"] = "data"): BackupEntry => ({
  bucket,
  key,
  bytes: Buffer.from(bytes),
});

async function* each<Value>(values: readonly Value[]): AsyncGenerator<Value> {
  yield* values;
}

async function written(entries: readonly BackupEntry[]): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of writeBackup(HEADER, each(entries))) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

async function read(text: string): Promise<{ facts: BackupFacts; entries: BackupEntry[] }> {
  const reading = readBackup(each([Buffer.from(text)]));
  const entries: BackupEntry[] = [];
  for (;;) {
    const next = await reading.next();
    if (next.done === true) return { facts: next.value, entries };
    entries.push(next.value);
  }
}

const ENTRIES = [
  entry("74.6b", '{"table":"t","key":"k","text":"Māori\\n"}'),
  entry("74.6c", new Uint8Array([0, 255, 128, 10])),
  entry("74.6d", "\uFEFFwith a mark, \u0000 and \u2028"),
  entry("74.6e", ""),
  entry("ab".repeat(32), '{"v":1}', "sessions"),
];

describe("the file of a backup", () => {
  it("gives back every byte of every value, in order, with what it is a backup of", async () => {
    const { facts, entries } = await read(await written(ENTRIES));
    expect(entries.map(({ bytes, ...place }) => ({ ...place, bytes: Buffer.from(bytes) }))).toEqual(ENTRIES);
    expect(facts).toMatchObject({ header: HEADER, trailer: { counts: { data: 4, sessions: 1 } } });
  });

  it("has text that people can read where a value is text, and its lines are JSON", async () => {
    const lines = (await written(ENTRIES)).trimEnd().split("\n");
    for (const line of lines) expect(() => JSON.parse(line) as unknown).not.toThrow();
    expect(lines[1]).toContain("Māori");
    expect(lines.length).toBe(ENTRIES.length + 2);
  });

  it("of nothing is whole, too", async () => {
    expect((await read(await written([]))).facts.trailer.counts).toEqual({ data: 0, sessions: 0 });
  });

  it("is refused where any line is missing, doubled, moved or altered", async () => {
    const lines = (await written(ENTRIES)).trimEnd().split("\n");
    const broken = lines.flatMap((line, index) => [
      lines.toSpliced(index, 1),
      lines.toSpliced(index, 1, line, line),
      lines.toSpliced(index, 1, line.replace(/[a-z](?=[^a-z]*$)/, "#")),
      lines.slice(0, index),
    ]);
    broken.push(lines.toSpliced(1, 2, lines[2] ?? "", lines[1] ?? ""));
    for (const some of broken)
      await expect(read(some.map((line) => `${line}\n`).join(""))).rejects.toMatchObject({ code: "BACKUP_INVALID" });
  });

  it("of the first days says nothing of variables, and is read as it is", async () => {
    expect((await read(await written(ENTRIES))).facts.header).toEqual(HEADER);
    expect((await written(ENTRIES)).split("\n")[0]).not.toContain("variables");
  });

  it("of a later version, or of something else, says so", async () => {
    const text = await written(ENTRIES);
    await expect(read(text.replace('"orchestratorBackup":1', '"orchestratorBackup":2'))).rejects.toThrow("it has version 2");
    await expect(read('{"name":"other"}\n')).rejects.toThrow("it is no backup of an orchestrator");
    await expect(read("PK\u0003\u0004")).rejects.toThrow("it is no backup of an orchestrator");
  });

  it("names no place outside of a store", async () => {
    for (const key of ["..", "74", "74.6", "74.6b.6c", "74.6B", "", "74.6b\n"]) {
      const text = await written([entry(key, "{}")]);
      await expect(read(text)).rejects.toThrow("names no place in a store");
    }
    await expect(read(await written([entry("a.b", "{}", "sessions")]))).rejects.toThrow("names no place in a store");
  });
});
