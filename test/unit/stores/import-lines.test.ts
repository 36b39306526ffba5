// What is read out of a line of an import.
import { describe, expect, it } from "vitest";
import { readLine } from "../../../orchestrator/stores/import-lines.ts";

const line = (text: string | Uint8Array, number = 1) => readLine({ number, bytes: Buffer.from(text), isTooLong: false });

describe("a line of an import", () => {
  it("is a document with its table and key, whatever else it holds", () => {
    const read = line('{"table":"Māori","key":"a b","ttl":5,"list":[1]}\r');
    expect(read).toMatchObject({ kind: "document", encoded: { document: { table: "Māori", key: "a b", ttl: 5, list: [1] } } });
  });

  it("may be empty, and the first may begin with the mark that some editors write", () => {
    expect(line(" \t\r")).toEqual({ kind: "empty" });
    expect(line('\uFEFF{"table":"t","key":"k"}')).toMatchObject({ kind: "document" });
    expect(line('\uFEFF{"table":"t","key":"k"}', 2)).toMatchObject({ kind: "bad" });
  });

  it.each([
    ["{", "is no JSON"],
    ["[1]", "is no JSON object"],
    ["null", "is no JSON object"],
    ['"text"', "is no JSON object"],
    [new Uint8Array([0x7b, 0xff, 0x7d]), "is no UTF-8"],
    ['{"key":"k"}', "Table is not defined"],
    ['{"table":"t"}', "Key is not defined"],
    [`{"table":"${"t".repeat(51)}","key":"k"}`, "max 50, received 51"],
    ['{"table":"t","key":"\\ud800"}', "Invalid key name"],
    [`{"table":"t","key":"k","text":"${"x".repeat(200_000)}"}`, "Item too large; must be less than 200KB"],
  ])("that is %s is bad, with the reason", (text, reason) => {
    const read = line(text);
    expect(read.kind === "bad" ? read.problem : read.kind).toContain(reason);
  });

  it("that is too long to be a document is bad without being read", () => {
    expect(readLine({ number: 7, bytes: Buffer.alloc(0), isTooLong: true })).toMatchObject({ kind: "bad" });
  });
});
