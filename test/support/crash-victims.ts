// Finds the processes of one home by what the home says of them, and sends signals to exactly those.
import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { findInstances } from "../../orchestrator/engines/process-instances.ts";
import { layoutOf } from "../../orchestrator/engines/process-layout.ts";
import { runningGateway } from "../../orchestrator/gateways/gateway-process.ts";
import { brokerHome } from "../../orchestrator/nats/broker-home.ts";
import { readState } from "../../orchestrator/processes/detached.ts";
import { type Identity, isAlive, processIdentity } from "../../orchestrator/processes/identity.ts";
import type { Environment } from "../../runtime-image/contract/instance-manifest.ts";
import { containersOf } from "./leftovers.ts";
import type { EngineName } from "./platform.ts";

const run = promisify(execFile);

export interface Place {
  readonly home: string;
  readonly engine: EngineName;
}

export async function brokerOf({ home }: Place): Promise<Identity | null> {
  const state = await readState(brokerHome(home).stateFile);
  return state !== null && (await isAlive(state.identity)) ? state.identity : null;
}

export const gatewayOf = ({ home }: Place, environment: Environment): Promise<Identity | null> =>
  runningGateway(join(home, "gateways"), environment);

export async function instancesOf({ home, engine }: Place): Promise<Identity[]> {
  if (engine === "process") {
    const known = await findInstances(layoutOf(home));
    return known.filter(({ isRunning }) => isRunning).map(({ identity }) => identity);
  }
  const names = await containersOf(home);
  // One that ended between the list and the look is no victim any more.
  const pids = await Promise.all(names.map((name) => pidOfContainer(name).catch(() => 0)));
  return alive(await Promise.all(pids.map(processIdentity)));
}

const pidOfContainer = async (name: string): Promise<number> =>
  Number((await run("docker", ["inspect", "--format", "{{.State.Pid}}", name])).stdout);

/** To those that are still the ones that were found. */
export async function signal(victims: readonly Identity[], name: "SIGKILL" | "SIGSTOP" | "SIGCONT"): Promise<void> {
  const found = await Promise.all(victims.map(async (victim) => ((await isAlive(victim)) ? victim : null)));
  for (const { pid } of alive(found)) process.kill(pid, name); // One after the other without a pause: all at once.
}

const alive = (identities: readonly (Identity | null)[]): Identity[] => identities.filter((identity) => identity !== null);
