// What an engine is told of an instance of a pool. Pure.
import type { BrokerAccess } from "../../runtime-image/contract/instance-manifest.ts";
import { INSTANCE_CPU_COUNT_MAX, INSTANCE_PID_COUNT_MAX, INSTANCE_TMP_BYTES_MAX } from "../../runtime-image/contract/limits.ts";
import type { InstanceSpec } from "../engines/engine.ts";
import type { PoolSpec } from "./pool-plan.ts";

export interface OwnSecrets {
  readonly instanceId: string;
  readonly broker: BrokerAccess;
  readonly sessionSecret: string;
}

export function instanceSpec(pool: PoolSpec, { instanceId, broker, sessionSecret }: OwnSecrets): InstanceSpec {
  const { appId, appName, environment, fn, configId, variables } = pool;
  const { name: functionName, buildId, generation, timeoutMs, concurrency, memoryBytesMax } = fn;
  return {
    instanceId,
    appId,
    environment,
    functionName,
    buildId,
    configId,
    manifest: {
      v: 1,
      instanceId,
      appId,
      appName,
      environment,
      functionName,
      generation,
      timeoutMs,
      concurrency,
      memoryBytesMax,
      rawJson: fn.rawJson ?? false, // Releases of the first days did not say.
      bareQuery: fn.bareQuery ?? false,
      sessionSecret,
      broker,
    },
    variables,
    limits: {
      memoryBytesMax,
      cpuCountMax: INSTANCE_CPU_COUNT_MAX,
      pidCountMax: INSTANCE_PID_COUNT_MAX,
      tmpBytesMax: INSTANCE_TMP_BYTES_MAX,
    },
  };
}
