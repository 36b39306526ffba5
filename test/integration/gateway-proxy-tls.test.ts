// Upstreams behind https: nothing is sent to one that cannot prove who it is, WebSockets included.
import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { createServer, type Server } from "node:https";
import { getCACertificates, setDefaultCACertificates } from "node:tls";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { WebSocket, WebSocketServer } from "ws";
import { type InProcessGateway, startInProcessGateway } from "../support/gateway-in-process.ts";
import { TEST_CERTIFICATE, TEST_KEY } from "../support/test-certificate.ts";

const trusted = getCACertificates("default");
let server: Server;
let gateway: InProcessGateway;
let requestCount = 0;

beforeAll(async () => {
  server = createServer({ key: TEST_KEY, cert: TEST_CERTIFICATE }, (request, response) => {
    requestCount++;
    response.end(`${request.headers.host} ${request.url}`);
  });
  const webSockets = new WebSocketServer({ server });
  webSockets.on("connection", (webSocket) => webSocket.on("message", (data) => webSocket.send(data)));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  gateway = await startInProcessGateway({ proxyUrl: `https://127.0.0.1:${portOf(server)}` });
});

afterAll(async () => {
  setDefaultCACertificates(trusted);
  await gateway.close();
  server.closeAllConnections();
  server.close();
});

const portOf = (listening: Server): number => {
  const address = listening.address();
  return typeof address === "object" && address !== null ? address.port : 0;
};

const dial = (): WebSocket => {
  const webSocket = new WebSocket(`ws://127.0.0.1:${gateway.port}/ws`);
  webSocket.on("error", () => undefined);
  return webSocket;
};

describe("an https upstream", () => {
  it("whose certificate nobody vouches for is asked nothing: 502", async () => {
    const answer = await fetch(`http://127.0.0.1:${gateway.port}/x`);
    expect([answer.status, await answer.json()]).toMatchObject([
      502,
      { code: "PROXY_FAILED", detail: expect.stringContaining("DEPTH_ZERO_SELF_SIGNED_CERT") as unknown },
    ]);
    const [, incoming] = (await once(dial(), "unexpected-response")) as [unknown, IncomingMessage]; // What ws emits.
    incoming.resume();
    expect([incoming.statusCode, requestCount]).toEqual([502, 0]);
  });

  it("whose certificate is vouched for answers, WebSockets as well", async () => {
    setDefaultCACertificates([...trusted, TEST_CERTIFICATE]);
    const answer = await fetch(`http://127.0.0.1:${gateway.port}/x`);
    expect([answer.status, await answer.text()]).toEqual([200, `127.0.0.1:${portOf(server)} /x`]);
    const webSocket = dial();
    await once(webSocket, "open");
    webSocket.send("hello");
    const [data] = (await once(webSocket, "message")) as [Buffer]; // What ws emits by default.
    expect(data.toString()).toBe("hello");
    webSocket.terminate();
  });
});
