// Looks at everything that a platform needs on this machine, and judges it.
import type { NatsBinarySearch } from "../nats/binary.ts";
import { gatherBrokerFacts } from "./broker-facts.ts";
import type { Check } from "./check.ts";
import type { DiskReport } from "./disk-use.ts";
import type { DockerFacts } from "./facts.ts";
import { judge } from "./judge.ts";
import {
  fileDescriptorCountMax,
  gatherDiskFacts,
  gatherMemoryFacts,
  gatherNatsFacts,
  gatherPortFacts,
  hasIpv6Loopback,
  type PortQuestion,
} from "./machine-facts.ts";
import { gatherToolFacts, type ToolSearch } from "./tool-facts.ts";

export interface DiagnoseInputs {
  readonly home: string;
  readonly natsSearch: NatsBinarySearch;
  readonly toolSearch: ToolSearch;
  readonly natsUrl: string | null; // A broker to look at: one of the owner's, or the running platform's.
  readonly ports: readonly PortQuestion[];
  readonly askDocker: () => Promise<DockerFacts>;
  readonly askDisk: () => Promise<DiskReport | null>; // Null where there is no home yet.
}

export async function diagnose(inputs: DiagnoseInputs): Promise<Check[]> {
  const [nats, tools, broker, docker, ports, disk, use, hasIpv6] = await Promise.all([
    gatherNatsFacts(inputs.natsSearch),
    gatherToolFacts(inputs.toolSearch),
    inputs.natsUrl === null ? null : gatherBrokerFacts(inputs.natsUrl),
    inputs.askDocker(),
    Promise.all(inputs.ports.map(gatherPortFacts)),
    gatherDiskFacts(inputs.home),
    inputs.askDisk(),
    hasIpv6Loopback(),
  ]);
  return judge({
    nodeVersion: process.versions.node,
    nats,
    tools,
    broker,
    docker,
    ports,
    disk,
    use,
    memory: gatherMemoryFacts(),
    fileDescriptorCountMax: fileDescriptorCountMax(),
    hasIpv6Loopback: hasIpv6,
  });
}
