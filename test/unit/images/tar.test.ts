// Tar streams as they are read: what is inside comes out, and nothing is ever written or linked outside.
import { mkdir, mkdtemp, readFile, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type TarEntry, packTar, unpackTar } from "../../../orchestrator/images/tar.ts";

let top = "";
beforeEach(async () => {
  top = await mkdtemp(join(tmpdir(), "orchestrator-tar-"));
  await mkdir(join(top, "into"));
});
afterEach(async () => rm(top, { recursive: true }));

const file = (path: string, text = path): TarEntry => ({ kind: "file", path, mode: 0o644, bytes: Buffer.from(text) });
const link = (path: string, target: string): TarEntry => ({ kind: "link", path, target });
const unpack = async (entries: TarEntry[], bytesMax = 1_000): Promise<string[]> => {
  await unpackTar(packTar(entries), { into: join(top, "into"), below: "install/", bytesMax });
  return (await readdir(top, { recursive: true })).toSorted();
};

describe("a tar that is unpacked", () => {
  it("comes out as it went in, from the folder that is asked for", async () => {
    const found = await unpack([file("install/a/b.js", "text"), file("other/c.js"), link("install/d", "a/b.js")]);
    expect(found).toEqual(["into", "into/a", "into/a/b.js", "into/d"]);
    expect(await readFile(join(top, "into/d"), "utf8")).toBe("text");
  });

  it.each([
    ["a path upwards", [file("install/../../evil")]],
    ["a link upwards", [link("install/evil", "../..")]],
    ["an absolute link", [link("install/evil", "/etc/passwd")]],
    ["a link that leads nowhere", [link("install/evil", "nothing")]],
    ["a file behind a link upwards", [link("install/evil", ".."), file("install/evil/x")]],
    [
      "links that only together lead out",
      [file("install/a/b/x", ""), link("install/a/b/up", "../.."), link("install/evil", "a/b/up/../..")],
    ],
  ])("leaves out %s", async (_what, entries) => {
    await unpack(entries).catch(() => undefined); // It may refuse the whole, as long as nothing is outside.
    const found = await readdir(top, { recursive: true });
    expect(found.filter((path) => !path.startsWith("into"))).toEqual([]);
    const evil = await readFile(join(top, "into/evil"), "utf8").catch((error: unknown) => (error as NodeJS.ErrnoException).code);
    expect(["ENOENT", "EISDIR"]).toContain(evil);
  });

  it("is refused when it holds too much", async () => {
    await expect(unpack([file("install/a", "x".repeat(2_000))])).rejects.toThrow("more than 1000 bytes");
  });
});
