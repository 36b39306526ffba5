// Where the Docker engine listens.
import { describe, expect, it } from "vitest";
import { parseDockerAddress } from "../../../orchestrator/docker/address.ts";

describe("the Docker engine's address", () => {
  it("is Docker's own socket unless something else is said", () => {
    expect(parseDockerAddress(undefined)).toEqual({ kind: "socket", path: "/var/run/docker.sock" });
    expect(parseDockerAddress("")).toEqual({ kind: "socket", path: "/var/run/docker.sock" });
  });

  it("is read as a socket or as host and port", () => {
    expect(parseDockerAddress("unix:///run/user/1000/docker.sock")).toEqual({ kind: "socket", path: "/run/user/1000/docker.sock" });
    expect(parseDockerAddress("tcp://192.0.2.7:2400")).toEqual({ kind: "tcp", host: "192.0.2.7", port: 2400 });
    expect(parseDockerAddress("tcp://builder")).toEqual({ kind: "tcp", host: "builder", port: 2375 });
  });

  it.each(["ssh://host", "nonsense", "unix://"])("refuses %s and says how to write it", (text) => {
    expect(() => parseDockerAddress(text)).toThrow(expect.objectContaining({ code: "SETTING_INVALID" }));
  });
});
