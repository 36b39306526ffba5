// What a function's container may do and have.
import { describe, expect, it } from "vitest";
import { containerOptions, instanceInput } from "../../../orchestrator/engines/docker-container-options.ts";
import type { InstanceSpec } from "../../../orchestrator/engines/engine.ts";
import { INSTANCE_MANIFEST_VARIABLE, MANIFEST_ON_INPUT } from "../../../runtime-image/contract/instance-manifest.ts";

const spec: InstanceSpec = {
  instanceId: "i1",
  appId: "shop",
  environment: "production",
  functionName: "src/http/get-index",
  buildId: "b1",
  configId: "c0f1",
  manifest: {
    v: 1,
    instanceId: "i1",
    appId: "shop",
    appName: "Shop",
    environment: "production",
    functionName: "src/http/get-index",
    generation: "current",
    timeoutMs: 10_000,
    concurrency: 32,
    rawJson: false,
    bareQuery: false,
    sessionSecret: "5e".repeat(32),
    memoryBytesMax: 128_000_000,
    broker: { url: "nats://172.18.0.1:4222", jwt: "j", seed: "s" },
  },
  variables: { GREETING: "hello = there", [INSTANCE_MANIFEST_VARIABLE]: "forged" },
  limits: { memoryBytesMax: 128_000_000, cpuCountMax: 0.5, pidCountMax: 64, tmpBytesMax: 1_000_000 },
};
const surroundings = {
  platform: { platformId: "p1", homeLabel: "/home/o" },
  image: "image:1",
  createdEpochMs: 1_700_000_000_123,
  hasIpv6: true,
};
const options = containerOptions(spec, surroundings);

describe("the options of a function's container", () => {
  it("gives no capability, no way to gain rights and no writable root", () => {
    expect(options.HostConfig).toMatchObject({ CapDrop: ["ALL"], SecurityOpt: ["no-new-privileges"], ReadonlyRootfs: true });
    expect(options.HostConfig.CapAdd).toBeUndefined();
    expect(options.HostConfig.Binds).toBeUndefined();
    expect(options.User).toBe("10001:10001");
  });

  it("bounds memory without swap, CPU, processes, files and /tmp", () => {
    expect(options.HostConfig).toMatchObject({ Memory: 128_000_000, MemorySwap: 128_000_000, NanoCpus: 500_000_000, PidsLimit: 64 });
    expect(options.HostConfig.Tmpfs).toEqual({ "/tmp": "rw,noexec,nosuid,nodev,size=1000000,mode=1777,uid=10001,gid=10001" });
    expect(options.HostConfig.Ulimits).toContainEqual({ Name: "core", Soft: 0, Hard: 0 });
  });

  it("puts it on its own environment's network only, with IPv6 off", () => {
    expect(options.HostConfig.NetworkMode).toBe("orchestrator-p1-production");
    expect(options.HostConfig.Sysctls).toMatchObject({ "net.ipv6.conf.all.disable_ipv6": "1" });
    expect(options).not.toHaveProperty("HostConfig.PortBindings");
  });

  it("sets nothing about IPv6 where the kernel has none", () => {
    expect(containerOptions(spec, { ...surroundings, hasIpv6: false }).HostConfig.Sysctls).toBeUndefined();
  });

  it("labels it with everything by which it is found again", () => {
    expect(options.Labels).toEqual({
      "orchestrator.platform": "p1",
      "orchestrator.home": "/home/o",
      "orchestrator.role": "instance",
      "orchestrator.app": "shop",
      "orchestrator.environment": "production",
      "orchestrator.function": "src/http/get-index",
      "orchestrator.build": "b1",
      "orchestrator.config": "c0f1",
      "orchestrator.instance": "i1",
      "orchestrator.created": "1700000000123",
    });
  });

  it("holds no secret, because Docker writes them to its disk", () => {
    expect(options.Env).toEqual([`${INSTANCE_MANIFEST_VARIABLE}=${MANIFEST_ON_INPUT}`]);
    expect(options).toMatchObject({ OpenStdin: true, StdinOnce: true });
    const all = JSON.stringify(options);
    for (const secret of ["hello = there", spec.manifest.sessionSecret, '"j"', '"s"']) expect(all).not.toContain(secret);
  });

  it("is followed by an input with the variables and the manifest", () => {
    expect(JSON.parse(Buffer.from(instanceInput(spec)).toString("utf8"))).toEqual({
      manifest: { ...spec.manifest, folder: "/app/src/http/get-index", watchMemory: false },
      variables: spec.variables,
    });
  });

  it("tells nothing by its host name and is never restarted by Docker", () => {
    expect(options.Hostname).toBe("function");
    expect(options.HostConfig.RestartPolicy).toEqual({ Name: "no" });
  });
});
