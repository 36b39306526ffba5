// The log of a gateway, which is set aside when it has grown.
import { mkdtemp, open, readFile, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { boundGatewayLog } from "../../../orchestrator/gateways/gateway-log.ts";

describe("the log of a gateway", () => {
  let folder = "";
  let file = "";
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "gateway-log-"));
    file = join(folder, "staging.log");
  });
  afterEach(async () => rm(folder, { recursive: true, force: true }));

  it("is left alone while it is short, and where there is none yet", async () => {
    await boundGatewayLog(file, 10);
    expect(await readdir(folder)).toEqual([]);
    await writeFile(file, "0123456789");
    await boundGatewayLog(file, 10);
    expect(await readFile(file, "utf8")).toBe("0123456789");
  });

  it("goes on in the same file for who has it open, with what was before in a second one", async () => {
    const writer = await open(file, "a", 0o600);
    await writer.write("the first lines\n");
    await boundGatewayLog(file, 10);
    await writer.write("a new one\n");
    await writer.close();
    expect(await readFile(file, "utf8")).toBe("a new one\n");
    expect(await readFile(`${file}.1`, "utf8")).toBe("the first lines\n");
    await boundGatewayLog(file, 5);
    expect(await readFile(`${file}.1`, "utf8")).toBe("a new one\n");
    expect((await readdir(folder)).toSorted()).toEqual(["staging.log", "staging.log.1"]);
  });
});
