// Clients that stop reading in the middle of a file lose it; those that read slowly do not.
import { once } from "node:events";
import { createServer } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { describe, expect, it, onTestFinished } from "vitest";
import { NO_PAGES } from "../../../../gateway/error-page.ts";
import { HttpExchange, type Serving } from "../../../../gateway/http-job.ts";
import { createLog } from "../../../../gateway/log.ts";
import { createSiteOpener } from "../../../../gateway/sites/site.ts";
import { createStaticFiles } from "../../../../gateway/sites/static-files.ts";
import { ANSWER_STALL_TIMEOUT_MS } from "../../../../runtime-image/contract/limits.ts";
import { createSitesRig } from "../../../support/site-folder.ts";
import { until } from "../../../support/until.ts";

const BYTES = 40_000_000;
const STEP_BYTES = 12_000_000; // More than all buffers on the way hold: between two steps the server must have sent something.

async function startServer() {
  const rig = createSitesRig();
  const planned = await rig.make({ "large.bin": Buffer.alloc(BYTES) });
  const log = createLog({ process: "test" });
  const time = { nowMs: 0 };
  const files = createStaticFiles({ sitesFolder: rig.sitesFolder, nowMs: () => time.nowMs, log });
  const site = createSiteOpener(rig.sitesFolder, { nowMs: () => time.nowMs, log })(planned.snapshot, null);
  const serving: Serving = {
    environment: "staging",
    heldBodies: { bytes: 0, bytesMax: 0 },
    unflushed: new Map(),
    openCount: 0,
    announceEnd: null,
    endsTunnels: false,
  };
  const server = createServer((request, response) => {
    const exchange = new HttpExchange({ serving, response, id: "id", accept: "", pages: NO_PAGES, nowMs: () => time.nowMs });
    files.serve(exchange, { site, area: "root", head: { method: "GET", path: request.url ?? "", accept: "" } });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(async () => {
    server.closeAllConnections();
    server.close();
    await rig.remove();
  });
  const { port } = server.address() as AddressInfo; // It listens on a port, not on a pipe.
  const client = connect(port, "127.0.0.1", () => client.write("GET /large.bin HTTP/1.1\r\nhost: x\r\n\r\n"));
  client.on("error", () => undefined);
  await once(client, "readable");
  return { time, files, serving, client };
}

describe("a client of a large file", () => {
  it("is cut off once it has read nothing for the whole time", async () => {
    const { time, files, serving, client } = await startServer();
    let isClosed = false;
    client.once("close", () => (isClosed = true));
    files.sweep(time.nowMs); // Takes note of what was sent so far,
    await until(
      () => {
        time.nowMs += 1; // which stands still once every buffer on the way is full.
        files.sweep(time.nowMs);
        return time.nowMs > 100;
      },
      { timeoutMs: 10_000 },
    );
    files.sweep(time.nowMs + ANSWER_STALL_TIMEOUT_MS / 2);
    expect(serving.openCount).toBe(1);
    files.sweep(time.nowMs + ANSWER_STALL_TIMEOUT_MS + 1);
    await until(() => serving.openCount === 0, { timeoutMs: 5_000 });
    client.resume();
    await until(() => isClosed, { timeoutMs: 5_000 });
    expect(client.bytesRead).toBeLessThan(BYTES);
  });

  it("gets all of it, however long that takes, while it goes on reading", async () => {
    const { time, files, serving, client } = await startServer();
    let bytes = 0;
    let steps = 0;
    for await (const part of client) {
      bytes += (part as Buffer).length; // What a socket yields without an encoding.
      if (bytes >= BYTES) break;
      if (bytes < (steps + 1) * STEP_BYTES) continue;
      steps += 1;
      time.nowMs += ANSWER_STALL_TIMEOUT_MS * 0.9;
      files.sweep(time.nowMs);
    }
    expect(steps).toBeGreaterThan(1);
    expect(bytes).toBeGreaterThanOrEqual(BYTES);
    await until(() => serving.openCount === 0, { timeoutMs: 5_000 });
  });
});
