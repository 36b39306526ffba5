// When a successor may take a gateway's place, and which sockets it is given.
import { describe, expect, it } from "vitest";
import { commonOf, lacksOf, type Standing } from "../../../gateway/succession.ts";

const nothing: Standing = { hasLearnt: false, sequences: {}, connected: {}, sites: {} };
const before: Standing = { hasLearnt: true, sequences: { a: 7, b: 2 }, connected: { a: true, b: false }, sites: { a: true, b: false } };

describe("a successor", () => {
  it("that knows as much as the gateway before it, or more, lacks nothing", () => {
    expect(lacksOf(before, before)).toEqual([]);
    expect(lacksOf(before, { ...before, sequences: { a: 8, b: 2, c: 1 }, connected: { a: true, b: true, c: false } })).toEqual([]);
  });

  it("that has just begun lacks everything that the other has", () => {
    expect(lacksOf(before, nothing)).toEqual([
      "what is deployed",
      "snapshot 7 of app a",
      "snapshot 2 of app b",
      "the connection to the functions of app a",
      "the static files of app a",
    ]);
  });

  it("need not reach what the other cannot reach either, nor know what the other does not know yet", () => {
    expect(lacksOf(before, { ...before, connected: { a: true }, sites: { a: true } })).toEqual([]);
    expect(lacksOf(nothing, nothing)).toEqual([]);
  });

  it("that knows an older snapshot, lost a connection, or cannot read static files lacks exactly that", () => {
    expect(lacksOf(before, { ...before, sequences: { a: 6, b: 2 } })).toEqual(["snapshot 7 of app a"]);
    expect(lacksOf(before, { ...before, connected: { a: false, b: false } })).toEqual(["the connection to the functions of app a"]);
    expect(lacksOf(before, { ...before, sites: { a: false } })).toEqual(["the static files of app a"]);
  });

  it("is given the sockets of the addresses that both name, host and port", () => {
    const sockets = [
      { address: { host: "127.0.0.1", port: 1 } },
      { address: { host: "::1", port: 1 } },
      { address: { host: "127.0.0.1", port: 2 } },
    ];
    const wanted = [
      { host: "127.0.0.1", port: 1 },
      { host: "::1", port: 2 },
    ];
    expect(commonOf(sockets, wanted)).toEqual(sockets.slice(0, 1));
  });
});
