// What the control plane says and hears over the broker, in the platform's words.
import type { GatewayStatus } from "../../runtime-image/contract/gateway-config.ts";
import type { InstanceEvent, Pong } from "../../runtime-image/contract/instance-events.ts";
import type { Environment } from "../../runtime-image/contract/instance-manifest.ts";
import type { AppSnapshot } from "../../runtime-image/contract/snapshot.ts";
import { gatewayStatusSubject, snapshotBucket } from "../../runtime-image/contract/subjects.ts";
import { ensureAccount } from "./account-directory.ts";
import type { BrokerSigner, Credentials } from "./accounts.ts";
import { createAppLines } from "./app-lines.ts";
import { openConnection, type BrokerConnection, type Received } from "./connection.ts";
import { createSnapshotStore, type SnapshotContent, type SnapshotStore } from "./snapshots.ts";
import { writtenRevision } from "./stores.ts";

/**
 * While the broker is away each call waits for it, no longer than its own timeout, and fails with BROKER_UNAVAILABLE after that.
 * Subscriptions come back with it.
 */
export interface ControlBus {
  /** Makes the account of an app in an environment known to the broker, and its buckets. Before it, none of its credentials are any good. */
  ensureAppAccount(appId: string, environment: Environment): Promise<void>;
  /** The same for an app of an earlier orchestrator, but its buckets are looked after when instances are listened to, or by tendStores(). */
  adoptAppAccount(appId: string, environment: Environment): Promise<void>;
  /** Brings buckets of adopted accounts up to date, one after the other, until the bus is closed. */
  tendStores(): Promise<void>;
  /** A number that grows with every document that is written. Null where the broker does not say. */
  writtenRevision(appId: string, environment: Environment): Promise<number | null>;
  /** From now on no store of any app takes anything new, or they all do again. Reading and destroying go on. */
  holdStores(isHeld: boolean): Promise<void>;
  /** Tells of instances until the returned function is called. What happens while the broker is away is not told later. */
  onInstanceEvent(appId: string, environment: Environment, onEvent: (event: InstanceEvent) => void): Promise<() => void>;
  /** Null at once where no such instance is connected, and after the timeout where it is silent. */
  pingInstance(appId: string, environment: Environment, instanceId: string, options: { readonly timeoutMs: number }): Promise<Pong | null>;
  /** Removes the stores of an app in an environment, with everything in them, and ends the line there. */
  dropApp(appId: string, environment: Environment): Promise<void>;

  /** Returns the sequence under which gateways will report it. */
  publishSnapshot(environment: Environment, content: SnapshotContent): Promise<number>;
  readSnapshot(environment: Environment, appId: string): Promise<AppSnapshot | null>;
  removeSnapshot(environment: Environment, appId: string): Promise<void>;

  /** Of one gateway where it is named, else of the first that answers. Null where none does. */
  gatewayStatus(
    environment: Environment,
    options: { readonly timeoutMs: number; readonly gatewayId?: string },
  ): Promise<GatewayStatus | null>;

  /** Control state: JSON values under keys of [-/=.\w]. */
  readControl(key: string): Promise<ControlEntry | null>;
  /** The new revision; null where the key is not at the revision that was expected (0: not there). */
  writeControl(key: string, value: unknown, options?: { readonly expectedRevision?: number }): Promise<number | null>;
  removeControl(key: string): Promise<void>;
  /** Every key below a prefix ("apps" finds "apps.a1"), "" for all. */
  listControl(prefix: string): Promise<readonly (ControlEntry & { readonly key: string })[]>;

  close(): Promise<void>;
}

export interface ControlEntry {
  readonly value: unknown; // The caller checks it.
  readonly revision: number;
}

export interface ControlBusOptions {
  readonly url: string;
  readonly signer: BrokerSigner;
  readonly onError: (cause: unknown) => void; // What a callback for events threw.
}

const CONTROL_BUCKET = "control";

export async function createControlBus(options: ControlBusOptions): Promise<ControlBus> {
  const { signer } = options;
  const opened: BrokerConnection[] = [];
  const open = async (credentials: Credentials, name: string): Promise<BrokerConnection> => {
    const connection = await openConnection({ url: options.url, ...credentials }, { name, onError: options.onError });
    opened.push(connection);
    return connection;
  };
  try {
    const system = await open(await signer.systemCredentials(), "orchestrator system");
    const platform = await open(await signer.orchestratorPlatformCredentials(), "orchestrator platform");
    const gateways = await openGateways(signer, open);
    const control = await platform.bucket(CONTROL_BUCKET);
    const lines = createAppLines(options);
    return {
      ensureAppAccount: async (appId, environment) => {
        await ensureAccount(system, await signer.appAccount(appId, environment));
        await lines.ensureStores({ appId, environment });
      },
      adoptAppAccount: async (appId, environment) => {
        await ensureAccount(system, await signer.appAccount(appId, environment));
        lines.adoptStores({ appId, environment });
      },
      tendStores: () => lines.tendStores(),
      writtenRevision: (appId, environment) => writtenRevision(system, signer.appAccountKey(appId, environment)),
      holdStores: (isHeld) => lines.holdStores(isHeld),
      onInstanceEvent: (appId, environment, onEvent) => lines.onInstanceEvent({ appId, environment }, onEvent),
      pingInstance: (appId, environment, instanceId, options) =>
        lines.use({ appId, environment }, async (line) => line.ping(instanceId, options)),
      dropApp: (appId, environment) => lines.dropStores({ appId, environment }),

      publishSnapshot: (environment, content) => gateways[environment].snapshots.publish(content),
      readSnapshot: (environment, appId) => gateways[environment].snapshots.read(appId),
      removeSnapshot: (environment, appId) => gateways[environment].snapshots.remove(appId),

      gatewayStatus: (environment, { timeoutMs, gatewayId }) =>
        gateways[environment].connection.ask({
          subject: gatewayStatusSubject(environment),
          timeoutMs,
          read: (message) => statusIn(message, gatewayId),
        }),

      readControl: async (key) => {
        const entry = await control.get(key);
        return entry === null || entry.bytes === null ? null : { value: jsonIn(entry.bytes), revision: entry.revision };
      },
      writeControl: (key, value, { expectedRevision } = {}) =>
        control.put(key, Buffer.from(JSON.stringify(value)), expectedRevision === undefined ? {} : { expectedRevision }),
      removeControl: (key) => control.remove(key),
      listControl: async (prefix) =>
        (await control.list(prefix)).map(({ key, bytes, revision }) => ({ key, value: jsonIn(bytes), revision })),

      close: async () => {
        await lines.close();
        await Promise.all(opened.map((connection) => connection.close()));
      },
    };
  } catch (error) {
    await Promise.all(opened.map((connection) => connection.close()));
    throw error;
  }
}

interface GatewaysLine {
  readonly connection: BrokerConnection;
  readonly snapshots: SnapshotStore;
}

async function openGateways(
  signer: BrokerSigner,
  open: (credentials: Credentials, name: string) => Promise<BrokerConnection>,
): Promise<Record<Environment, GatewaysLine>> {
  const line = async (environment: Environment): Promise<GatewaysLine> => {
    const connection = await open(await signer.orchestratorGatewaysCredentials(environment), `orchestrator gateways ${environment}`);
    return { connection, snapshots: createSnapshotStore(await connection.bucket(snapshotBucket(environment))) };
  };
  return { staging: await line("staging"), production: await line("production") };
}

function statusIn(message: Received, gatewayId: string | undefined): GatewayStatus | null {
  const value = jsonIn(message.bytes);
  if (typeof value !== "object" || value === null || !("gatewayId" in value)) return null;
  if (gatewayId !== undefined && value.gatewayId !== gatewayId) return null;
  return value as GatewayStatus; // Gateways are ours, and nobody else may answer there.
}

/** Null for bytes that are no JSON. */
function jsonIn(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(Buffer.from(bytes).toString("utf8"));
  } catch {
    return null;
  }
}
