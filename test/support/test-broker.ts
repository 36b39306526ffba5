// A real broker in a home of its own, for one test file: started, connected to, and gone without a trace.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { systemClock } from "../../orchestrator/clock.ts";
import { createBrokerSigner, type BrokerSigner } from "../../orchestrator/nats/accounts.ts";
import { findNatsServer, type NatsBinary } from "../../orchestrator/nats/binary.ts";
import { loadBrokerKeys } from "../../orchestrator/nats/keys.ts";
import { startBroker, type Broker, type BrokerOptions } from "../../orchestrator/nats/server.ts";
import type { BrokerEvent } from "../../orchestrator/nats/supervise.ts";
import { natsServerPath } from "./nats-binary.ts";

export interface TestBroker {
  readonly home: string;
  readonly options: BrokerOptions; // To start another on the same home.
  readonly signer: BrokerSigner;
  readonly broker: Broker;
  readonly events: readonly BrokerEvent[];
  close(): Promise<void>;
}

export const testBinary = (): Promise<NatsBinary> => findNatsServer({ explicitPath: natsServerPath(), searchPath: "" });

export const makeHome = (): Promise<string> => mkdtemp(join(tmpdir(), "orchestrator-broker-"));

export async function startTestBroker(overrides: Partial<Pick<BrokerOptions, "home" | "port">> = {}): Promise<TestBroker> {
  const home = overrides.home ?? (await makeHome());
  const signer = createBrokerSigner(await loadBrokerKeys(home));
  const events: BrokerEvent[] = [];
  const options: BrokerOptions = {
    home,
    host: "127.0.0.1",
    port: overrides.port ?? null,
    binary: await testBinary(),
    signer,
    clock: systemClock,
    onEvent: (event) => void events.push(event),
  };
  const broker = await startBroker(options).catch(async (error: unknown) => {
    await rm(home, { recursive: true, force: true });
    throw error;
  });
  return {
    home,
    options,
    signer,
    broker,
    events,
    close: async () => {
      await broker.stop();
      await rm(home, { recursive: true, force: true });
    },
  };
}
