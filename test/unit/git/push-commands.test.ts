// What a push asks for, and how git frames it: read from any pieces, and believed only where it is well formed.
import { describe, expect, it } from "vitest";
import { createByteReader } from "../../../orchestrator/git/byte-reader.ts";
import { FLUSH, pkt, readPkt, refusedFetch, refusedPush, serviceHead } from "../../../orchestrator/git/pkt-line.ts";
import {
  commandsProblem,
  defaultBranchAfter,
  readPushCommands,
  refNameProblem,
  type RefCommand,
} from "../../../orchestrator/git/push-commands.ts";

const NOTHING = "0".repeat(40);
const ID = "1".repeat(40);

async function* pieces(bytes: Uint8Array, byteCount: number): AsyncGenerator<Uint8Array> {
  for (let start = 0; start < bytes.length; start += byteCount) yield bytes.subarray(start, start + byteCount);
}
const readerOf = (bytes: Uint8Array, byteCount = 7) => createByteReader(pieces(bytes, byteCount));
const pushed = (ref: string, newId: string | null = ID): RefCommand => ({ ref, oldId: null, newId });

describe("a reader of bytes", () => {
  it.each([1, 3, 100])("gives the same whether %i bytes come at once", async (byteCount) => {
    const reader = readerOf(Buffer.from("one\0two\0three"), byteCount);
    expect((await reader.takeUntil(0, 10))?.toString()).toBe("one");
    expect((await reader.take(2)).toString()).toBe("tw");
    expect((await reader.takeUntil(0, 10))?.toString()).toBe("o");
    let rest = "";
    for (let some = await reader.takeSome(2); some !== null; some = await reader.takeSome(2)) rest += some.toString();
    expect(rest).toBe("three");
    expect(await reader.takeUntil(0, 10)).toBeNull();
  });

  it("takes no line for one that has no end, or none within its limit", async () => {
    await expect(readerOf(Buffer.from("one")).takeUntil(0, 10)).rejects.toThrow("without an end mark");
    await expect(readerOf(Buffer.from("longer than ten\0")).takeUntil(0, 10)).rejects.toThrow("more than 10 bytes");
    await expect(readerOf(Buffer.from("longer than ten\0"), 100).takeUntil(0, 10)).rejects.toThrow("more than 10 bytes");
    await expect(readerOf(Buffer.from("abc")).take(4)).rejects.toThrow("1 bytes early");
  });
});

describe("pkt-lines", () => {
  it("are written and read back", async () => {
    expect(pkt("a\n").toString()).toBe("0006a\n");
    const reader = readerOf(Buffer.concat([pkt("ä"), pkt("x".repeat(65_516)), FLUSH]));
    expect(await readPkt(reader)).toMatchObject({ kind: "data", payload: Buffer.from("ä") });
    expect(await readPkt(reader)).toMatchObject({ kind: "data", payload: Buffer.from("x".repeat(65_516)) });
    expect(await readPkt(reader)).toEqual({ kind: "flush" });
    expect(() => pkt("x".repeat(65_517))).toThrow(RangeError);
  });

  it.each(["0001", "0003", "0004", "zzzz", "+001", "ffff"])("with the length %s are none", async (length) => {
    expect(await readPkt(readerOf(Buffer.from(`${length}${"x".repeat(70_000)}`)))).toEqual({ kind: "malformed" });
  });

  it("say which service speaks, and refuse a fetch in words", () => {
    expect(serviceHead("git-upload-pack").toString()).toBe("001e# service=git-upload-pack\n0000");
    expect(refusedFetch(["GIT_BUSY: no.", "Try again."]).toString()).toBe("0021ERR GIT_BUSY: no. Try again.\n");
  });

  it("refuse a push in words for people and a report for their git, in as many pieces as it takes", async () => {
    const refs = Array.from({ length: 1_000 }, (_, index) => `refs/heads/${"long".repeat(30)}-${index}`);
    const answer = readerOf(refusedPush({ refs, capabilities: new Set(["side-band-64k"]), lines: ["one", "two"], reason: "no" }));
    const bands: Record<number, Buffer[]> = { 1: [], 2: [] };
    for (let next = await readPkt(answer); next.kind === "data"; next = await readPkt(answer))
      bands[next.payload[0] ?? 0]?.push(next.payload.subarray(1));
    expect(Buffer.concat(bands[2] ?? []).toString()).toBe("one\ntwo\n");
    const report = readerOf(Buffer.concat(bands[1] ?? []));
    expect(await readPkt(report)).toMatchObject({ payload: Buffer.from("unpack no\n") });
    for (const ref of refs) expect(await readPkt(report)).toMatchObject({ payload: Buffer.from(`ng ${ref} no\n`) });
    expect(await readPkt(report)).toEqual({ kind: "flush" });
    const plain = refusedPush({ refs: ["refs/heads/a"], capabilities: new Set(), lines: ["not shown"], reason: "no" });
    expect(plain.toString()).toBe("000eunpack no\n0017ng refs/heads/a no\n0000");
  });
});

describe("the commands of a push", () => {
  it("are read up to the pack, with what the client can do", async () => {
    const list = Buffer.concat([
      pkt(`${NOTHING} ${ID} refs/heads/main\0 report-status side-band-64k agent=git/2.39.5\n`),
      pkt(`${ID} ${NOTHING} refs/tags/ä\n`),
      FLUSH,
    ]);
    const reader = readerOf(Buffer.concat([list, Buffer.from("PACK…")]));
    const asked = await readPushCommands(reader);
    expect(asked).toMatchObject({
      kind: "commands",
      commands: [
        { ref: "refs/heads/main", oldId: null, newId: ID },
        { ref: "refs/tags/ä", oldId: ID, newId: null },
      ],
      bytes: list, // Git is given the very same.
    });
    expect([...asked.capabilities]).toEqual(["report-status", "side-band-64k", "agent=git/2.39.5"]);
    expect((await reader.take(4)).toString()).toBe("PACK");
  });

  it("of a shallow clone keep what says so", async () => {
    const list = Buffer.concat([pkt(`shallow ${ID}`), pkt(`${NOTHING} ${ID} refs/heads/main\0side-band-64k`), FLUSH]);
    expect(await readPushCommands(readerOf(list))).toMatchObject({ kind: "commands", commands: [{ ref: "refs/heads/main" }], bytes: list });
  });

  it("may be none", async () => {
    expect(await readPushCommands(readerOf(FLUSH))).toMatchObject({ kind: "commands", commands: [], bytes: FLUSH });
  });

  it("are bounded in number", async () => {
    const lines = Array.from({ length: 5_001 }, (_, index) => pkt(`${NOTHING} ${ID} refs/heads/b${index}`));
    expect(await readPushCommands(readerOf(Buffer.concat([...lines, FLUSH]), 65_536))).toMatchObject({
      kind: "malformed",
      problem: "A push changes at most 5000 refs.",
    });
  });

  it.each([
    "refs/heads/main",
    "refs/tags/v1.2.0",
    "refs/heads/feature/ä-日本",
    "refs/heads/-x",
    "refs/heads/@",
    "refs/notes/commits",
    `refs/heads/${"x".repeat(200)}`,
  ])("may name %s", (ref) => {
    expect(refNameProblem(ref)).toBeNull();
  });

  it.each([
    "HEAD",
    "refs/main",
    "refs/heads/",
    "refs//heads/x",
    "refs/heads/.x",
    "refs/heads/x.lock",
    "refs/heads/x.lock/y",
    "refs/heads/x.",
    "refs/heads/a..b",
    "refs/heads/../x",
    "refs/heads/a@{1}",
    "refs/heads/a b",
    "refs/heads/a~1",
    "refs/heads/a^",
    "refs/heads/a:b",
    "refs/heads/a?",
    "refs/heads/a*",
    "refs/heads/a[b",
    "refs/heads/a\\b",
    "refs/heads/a\nb",
    "refs/heads/a\u007f",
    "refs/heads/a\u202eb",
    "refs/heads/a\u{fffd}",
    `refs/heads/${"x".repeat(600)}`,
  ])("may not name %j", (ref) => {
    expect(refNameProblem(ref)).not.toBeNull();
  });

  it("may not delete the default branch", () => {
    expect(commandsProblem([{ ref: "refs/heads/main", oldId: ID, newId: null }], "main")).toContain("The branch main");
    expect(commandsProblem([{ ref: "refs/heads/other", oldId: ID, newId: null }], "main")).toBeNull();
  });
});

describe("the default branch", () => {
  const empty = { branch: "main", commit: null };
  it.each([
    ["main, where it is pushed", [pushed("refs/heads/x"), pushed("refs/heads/main")], "main"],
    ["the only branch that is pushed", [pushed("refs/heads/trunk"), pushed("refs/tags/v1")], "trunk"],
    ["master, among others", [pushed("refs/heads/x"), pushed("refs/heads/master")], "master"],
    ["main still, where nothing says more", [pushed("refs/heads/x"), pushed("refs/heads/y")], "main"],
    ["main still, where only a tag is pushed", [pushed("refs/tags/v1")], "main"],
    ["main still, where a branch is deleted", [pushed("refs/heads/x", null)], "main"],
  ])("of an empty repository is %s", (_what, commands, branch) => {
    expect(defaultBranchAfter(empty, commands)).toBe(branch);
  });

  it("of any other stays what it is", () => {
    expect(defaultBranchAfter({ branch: "main", commit: ID }, [pushed("refs/heads/trunk")])).toBe("main");
  });
});
