// Turns facts about a machine into checks: what is fine, what is worth knowing, what must be repaired, and how. Pure.
import {
  BROKER_PAYLOAD_BYTES_MAX,
  BROKER_VERSION_MIN,
  CONNECTION_COUNT_MAX,
  INSTANCE_MEMORY_BYTES_MAX,
} from "../../runtime-image/contract/limits.ts";
import { isVersionAtLeast } from "../nats/version.ts";
import type { Check } from "./check.ts";
import { judgeDocker } from "./judge-docker.ts";
import { judgeUse } from "./judge-use.ts";
import type { BrokerFacts, DiskFacts, Facts, NatsFacts, PortFacts, ToolFacts } from "./facts.ts";

const NODE_VERSION_MIN = "24.0.0"; // The first that runs TypeScript files as they are.
const DISK_BYTES_LOW = 2_000_000_000; // A base image, some builds and a day of logs.
const DISK_BYTES_TOO_LOW = 200_000_000;
const FILE_DESCRIPTOR_COUNT_LOW = CONNECTION_COUNT_MAX + 1_000; // One per connection, and what a process needs besides.

export function judge(facts: Facts): Check[] {
  return [
    judgeNode(facts.nodeVersion),
    judgeNats(facts.nats),
    ...judgeTools(facts.tools),
    ...(facts.broker === null ? [] : [judgeBroker(facts.broker)]),
    ...judgeDocker(facts.docker),
    ...facts.ports.map(judgePort),
    judgeDisk(facts.disk),
    ...(facts.use === null ? [] : judgeUse(facts.use)),
    judgeMemory(facts.memory),
    ...(facts.fileDescriptorCountMax === null ? [] : [judgeFileDescriptors(facts.fileDescriptorCountMax)]),
    judgeIpv6(facts.hasIpv6Loopback),
  ];
}

function judgeNode(version: string): Check {
  if (isVersionAtLeast(version, NODE_VERSION_MIN)) return { name: "Node", state: "ok", detail: version };
  return { name: "Node", state: "bad", detail: `${version} is too old; ${NODE_VERSION_MIN} or newer is needed.`, remedy: "Run ./setup." };
}

function judgeNats(nats: NatsFacts): Check {
  const name = "nats-server";
  switch (nats.kind) {
    case "found":
      return { name, state: "ok", detail: `${nats.version} (${nats.path})` };
    case "unusable":
      return { name, state: "bad", detail: nats.problem, remedy: nats.remedy };
  }
}

/** A folder without packages is served without either. */
function judgeTools({ git, npm }: ToolFacts): Check[] {
  return [
    git === null
      ? {
          name: "git",
          state: "warn",
          detail: "there is none; deploy, git push and route add need it.",
          remedy: "Install it, for instance with: apt-get install git.",
        }
      : { name: "git", state: "ok", detail: git },
    npm === null
      ? {
          name: "npm",
          state: "warn",
          detail: "there is none; the packages that functions ask for are not installed.",
          remedy: "Install it, for instance with: apt-get install npm, or put node_modules into the app's folder yourself.",
        }
      : { name: "npm", state: "ok", detail: npm },
  ];
}

function judgeBroker(broker: BrokerFacts): Check {
  const name = "broker";
  if (broker.kind === "silent")
    return {
      name,
      state: "bad",
      detail: `${broker.url} does not answer: ${broker.problem}`,
      remedy: "Start it, or name another one with --nats.",
    };
  const problems = [
    isVersionAtLeast(broker.version, BROKER_VERSION_MIN) ? "" : `it is version ${broker.version}, at least ${BROKER_VERSION_MIN} is needed`,
    broker.payloadBytesMax >= BROKER_PAYLOAD_BYTES_MAX
      ? ""
      : `max_payload is ${megabytes(broker.payloadBytesMax)}, ${megabytes(BROKER_PAYLOAD_BYTES_MAX)} are needed`,
    broker.hasJetStream ? "" : "JetStream is off",
  ].filter((problem) => problem !== "");
  if (problems.length === 0)
    return {
      name,
      state: "ok",
      detail: `${broker.url}, version ${broker.version}, JetStream, max_payload ${megabytes(broker.payloadBytesMax)}`,
    };
  return {
    name,
    state: "bad",
    detail: `${broker.url}: ${problems.join("; ")}.`,
    remedy: '"orchestrator nats config" prints what its configuration must include.',
  };
}

function judgePort(port: PortFacts): Check {
  const name = `port ${port.port}`;
  switch (port.state) {
    case "free":
      return { name, state: "ok", detail: `free (${port.purpose})` };
    case "ours":
      return { name, state: "ok", detail: `in use by a running orchestrator (${port.purpose})` };
    case "taken":
      return {
        name,
        state: "bad",
        detail: `taken by another program (${port.purpose})`,
        remedy: `Stop that program, or choose another port with ${port.flag}.`,
      };
    case "forbidden":
      return {
        name,
        state: "bad",
        detail: `may not be used by this user (${port.purpose})`,
        remedy: `Choose a port above 1023 with ${port.flag}.`,
      };
  }
}

function judgeDisk(disk: DiskFacts): Check {
  const name = "disk";
  const detail = `${megabytes(disk.freeBytes)} free at ${disk.path}`;
  if (!disk.isWritable)
    return { name, state: "bad", detail: `${disk.path} may not be written to.`, remedy: "Name another home with --home." };
  if (disk.freeBytes < DISK_BYTES_TOO_LOW)
    return { name, state: "bad", detail, remedy: "Make room, or name a home on another disk with --home." };
  if (disk.freeBytes < DISK_BYTES_LOW)
    return { name, state: "warn", detail, remedy: `Builds, logs and images want ${megabytes(DISK_BYTES_LOW)}.` };
  return { name, state: "ok", detail };
}

function judgeMemory(memory: Facts["memory"]): Check {
  const detail = `${megabytes(memory.availableBytes)} of ${megabytes(memory.totalBytes)} available`;
  if (memory.availableBytes >= 2 * INSTANCE_MEMORY_BYTES_MAX) return { name: "memory", state: "ok", detail };
  const remedy = `One function may use up to ${megabytes(INSTANCE_MEMORY_BYTES_MAX)}; give this machine more memory, or its functions smaller limits.`;
  return { name: "memory", state: "warn", detail, remedy };
}

function judgeFileDescriptors(count: number): Check {
  const name = "open files";
  const detail = `at most ${count} per process`;
  if (count >= FILE_DESCRIPTOR_COUNT_LOW) return { name, state: "ok", detail };
  const remedy = `A gateway takes up to ${CONNECTION_COUNT_MAX} connections: raise the limit (ulimit -n ${2 * CONNECTION_COUNT_MAX}, or LimitNOFILE in a unit file).`;
  return { name, state: "warn", detail, remedy };
}

function judgeIpv6(hasLoopback: boolean): Check {
  if (hasLoopback) return { name: "IPv6 loopback", state: "ok", detail: "::1 can be listened on" };
  return { name: "IPv6 loopback", state: "ok", detail: "there is none; everything listens on 127.0.0.1 alone" };
}

const megabytes = (bytes: number): string =>
  bytes >= 10_000_000_000 ? `${Math.round(bytes / 1_000_000_000)} GB` : `${Math.round(bytes / 1_000_000)} MB`;
