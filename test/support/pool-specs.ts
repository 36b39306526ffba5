// A pool of a function as the deployer asks for it.
import { type PoolSpec, poolKeyOf } from "../../orchestrator/pools/pool-plan.ts";

export function poolSpec(name: string, instanceCount = 1): PoolSpec {
  const fn = {
    name,
    method: "GET",
    path: "/",
    generation: "current",
    buildId: "b1",
    concurrency: 32,
    timeoutMs: 1_000,
    memoryBytesMax: 1,
    rawJson: false,
    bareQuery: false,
  } as const;
  const poolKey = poolKeyOf({ appId: "a", environment: "staging", functionName: name, buildId: "b1", configId: "c1" });
  return { poolKey, appId: "a", appName: "app", environment: "staging", fn, configId: "c1", variables: {}, instanceCount };
}
