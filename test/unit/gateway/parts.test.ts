// The small parts of a gateway: its config, its error pages, its snapshots, and what it says on broken sockets.
import { describe, expect, it } from "vitest";
import { checkConfig } from "../../../gateway/config.ts";
import { errorAnswer, prefersHtml } from "../../../gateway/error-page.ts";
import { visibleDetail } from "../../../gateway/http-job.ts";
import { refusalOf } from "../../../gateway/raw-refusal.ts";
import { createSnapshots } from "../../../gateway/snapshots.ts";
import { PlatformError } from "../../../runtime-image/contract/errors.ts";

const config = {
  v: 1,
  gatewayId: "g1",
  environment: "production",
  listen: [{ host: "127.0.0.1", port: 8080 }],
  trustedProxies: ["10.0.0.0/8", "::1"],
  broker: { url: "nats://127.0.0.1:4222", jwt: "", seed: "" },
  limits: { requestBodyBytesMax: 1, headerBytesMax: 1, targetBytesMax: 1 },
};

describe("the config", () => {
  it("is taken where everything is right", () => {
    expect(checkConfig(config)).toBe(config);
  });

  it("names every problem at once", () => {
    const wrong = {
      ...config,
      v: 2,
      gatewayId: "G.1",
      listen: [
        { host: 1, port: 70_000 },
        { host: "::1", port: 443, tls: { certFile: "cert.pem" } },
      ],
      trustedProxies: ["10.0.0.0/33", "host"],
      limits: {},
    };
    const problems = (() => {
      try {
        checkConfig(wrong);
        return [];
      } catch (thrown) {
        return thrown instanceof PlatformError ? (thrown.detail.problems ?? []) : [];
      }
    })();
    expect(problems.map((problem) => problem.split(":")[0])).toEqual([
      "v",
      "gatewayId",
      "listen[0].host",
      "listen[0].port",
      "listen[1].tls.certFile",
      "listen[1].tls.keyFile",
      "trustedProxies[0]",
      "trustedProxies[1]",
      "limits.requestBodyBytesMax",
      "limits.headerBytesMax",
      "limits.targetBytesMax",
    ]);
  });

  it("may name the program of a successor, whole or not at all", () => {
    const program = {
      nodePath: "/node",
      nodeArguments: ["--x"],
      mainFile: "/main.ts",
      variables: { A: "1" },
      logFile: "/log",
      version: "1",
    };
    expect(checkConfig({ ...config, program })).toMatchObject({ program });
    expect(() => checkConfig({ ...config, program: { ...program, nodeArguments: [1], variables: { A: 1 }, logFile: undefined } })).toThrow(
      "program.logFile: should be a text; program.nodeArguments: should be a list of texts; program.variables: should be texts by their names",
    );
  });
});

describe("error answers", () => {
  it("are problems, or pages for who asks for them", () => {
    expect(["*/*", "application/json", "text/html;q=0, */*", "application/json, text/html;q=0.5", ""].map(prefersHtml)).toEqual([
      false,
      false,
      false,
      false,
      false,
    ]);
    expect(["text/html", "text/html,application/xhtml+xml,*/*;q=0.8", "TEXT/HTML; q=0.9, application/json;q=0.8"].map(prefersHtml)).toEqual(
      [true, true, true],
    );
  });

  it("escape what others wrote", () => {
    const { body } = errorAnswer({ code: "HANDLER_THREW", requestId: "<id>", detail: '<script>&"', accept: "text/html" });
    expect(body).not.toContain("<script>");
    expect(body).toContain("&lt;script&gt;&amp;&quot;");
    expect(body).toContain("&lt;id&gt;");
  });

  it("count their bytes and say when to come again", () => {
    const { headers, body } = errorAnswer({ code: "NO_CAPACITY", requestId: "id", detail: "é", accept: "" });
    expect(headers[headers.indexOf("content-length") + 1]).toBe(String(Buffer.byteLength(body)));
    expect(headers[headers.indexOf("retry-after") + 1]).toBe("1");
    expect(JSON.parse(body)).toMatchObject({
      type: "urn:orchestrator:error:NO_CAPACITY",
      status: 503,
      detail: "é",
      code: "NO_CAPACITY",
      requestId: "id",
    });
  });

  it("explain nothing in production but what its owner has to do", () => {
    expect(visibleDetail("HANDLER_THREW", "a stack", "production")).toBeNull();
    expect(visibleDetail("HANDLER_THREW", "a stack", "staging")).toBe("a stack");
    expect(visibleDetail("NOTHING_DEPLOYED", undefined, "production")).toContain("promote");
  });
});

describe("failures of the parser", () => {
  const packet = (text: string): { code: string; rawPacket: Uint8Array } => ({ code: "HPE_INVALID_METHOD", rawPacket: Buffer.from(text) });
  it("become what they are", () => {
    expect(refusalOf(packet("FROB / HTTP/1.1"))).toBe("METHOD_NOT_SUPPORTED");
    expect(refusalOf(packet("\x16\x03\x01"))).toBe("REQUEST_MALFORMED");
    expect(refusalOf({ code: "HPE_HEADER_OVERFLOW" })).toBe("HEADERS_TOO_LARGE");
    expect(refusalOf({ code: "ERR_HTTP_REQUEST_TIMEOUT" })).toBe("REQUEST_TIMED_OUT");
    expect(refusalOf({})).toBe("REQUEST_MALFORMED");
  });
});

describe("snapshots", () => {
  const snapshot = (sequence: number): string =>
    JSON.stringify({ v: 1, appId: "a", appName: "a", hosts: [], isDefault: true, sequence, deployment: { kind: "none" } });

  it("only move forward, unless the app was removed", () => {
    const snapshots = createSnapshots();
    expect(snapshots.take("a", snapshot(2)).kind).toBe("changed");
    expect(snapshots.take("a", snapshot(2)).kind).toBe("ignored");
    expect(snapshots.take("a", snapshot(1)).kind).toBe("ignored");
    expect(snapshots.sequences()).toEqual({ a: 2 });
    expect(snapshots.take("a", null)).toEqual({ kind: "removed", appId: "a" });
    expect(snapshots.take("a", null).kind).toBe("ignored");
    expect(snapshots.take("a", snapshot(1)).kind).toBe("changed");
  });

  it("are not taken from what is none", () => {
    const snapshots = createSnapshots();
    for (const text of ["", "null", "{}", "[]", '{"v":2}', snapshot(1).replace('"none"', '"other"')])
      expect(snapshots.take("a", text).kind).toBe("ignored");
    expect(snapshots.take("b", snapshot(1)).kind).toBe("ignored");
  });
});
