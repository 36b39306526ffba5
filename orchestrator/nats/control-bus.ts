// What the control plane says and hears over the broker, in the platform's words.
import type { GatewayStatus } from "../../runtime-image/contract/gateway-config.ts";
import type { InstanceEvent, Pong } from "../../runtime-image/contract/instance-events.ts";
import type { Environment } from "../../runtime-image/contract/instance-manifest.ts";
import type { AppSnapshot } from "../../runtime-image/contract/snapshot.ts";
import { BROKER_IDLE_LINE_COUNT_MAX } from "../../runtime-image/contract/limits.ts";
import { gatewayStatusSubject, snapshotBucket } from "../../runtime-image/contract/subjects.ts";
import { ensureAccount } from "./account-directory.ts";
import type { BrokerSigner, Credentials } from "./accounts.ts";
import { createAppLine, type AppLine } from "./app-line.ts";
import { openConnection, type BrokerConnection, type Received } from "./connection.ts";
import { createKeptLines, type WantedLine } from "./kept-lines.ts";
import { createSnapshotStore, type SnapshotContent, type SnapshotStore } from "./snapshots.ts";
import { type StoreState, writtenRevision } from "./stores.ts";

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
        lines.adopt({ appId, environment });
      },
      tendStores: () => lines.tendStores(),
      writtenRevision: (appId, environment) => writtenRevision(system, signer.appAccountKey(appId, environment)),
      holdStores: (isHeld) => lines.holdStores(isHeld),
      ...lines.calls,

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

type AppCalls = Pick<ControlBus, "onInstanceEvent" | "pingInstance" | "dropApp">;

interface AppPlace {
  readonly appId: string;
  readonly environment: Environment;
}

interface AppLines {
  readonly calls: AppCalls;
  ensureStores(place: AppPlace): Promise<void>;
  adopt(place: AppPlace): void;
  tendStores(): Promise<void>;
  holdStores(isHeld: boolean): Promise<void>;
  close(): Promise<void>;
}

/** A connection into the account of an app and environment stays open while its instances are listened to. */
function createAppLines({ url, signer, onError }: ControlBusOptions): AppLines {
  const lines = createKeptLines<AppLine>({ idleCountMax: BROKER_IDLE_LINE_COUNT_MAX });
  const known = new Map<string, AppPlace>(); // Those with stores.
  const untended = new Map<string, AppPlace>(); // Nobody knows how an earlier orchestrator left their stores.
  let stores: StoreState = { isHeld: false };
  let tended: Promise<void> = Promise.resolve();
  let isClosed = false;
  const nameOf = ({ appId, environment }: AppPlace): string => `${environment} ${appId}`;
  const lineTo = (place: AppPlace): WantedLine<AppLine> => ({
    name: nameOf(place),
    open: async () => {
      const { appId, environment } = place;
      const access = { url, ...(await signer.controlCredentials(appId, environment)) };
      return createAppLine(await openConnection(access, { name: `orchestrator ${appId} ${environment}`, onError }));
    },
  });
  const ensureStores = async (place: AppPlace): Promise<void> => {
    await lines.use(lineTo(place), async (line) => line.ensureStores(stores));
    untended.delete(nameOf(place));
    known.set(nameOf(place), place);
  };
  /** One that fails must not keep the others from it. */
  const ensureEach = async (places: Iterable<AppPlace>): Promise<void> => {
    const failures: unknown[] = [];
    for (const place of places) {
      if (isClosed) return;
      await ensureStores(place).catch((cause: unknown) => failures.push(cause));
    }
    if (failures.length > 0 && !isClosed) throw failures[0];
  };
  return {
    calls: {
      async onInstanceEvent(appId, environment, onEvent) {
        const place = { appId, environment };
        if (untended.has(nameOf(place))) await ensureStores(place);
        const { line, letGo } = await lines.hold(lineTo(place));
        try {
          const end = await line.onInstanceEvent(onEvent);
          return () => {
            end();
            letGo();
          };
        } catch (cause) {
          letGo();
          throw cause;
        }
      },
      pingInstance: async (appId, environment, instanceId, { timeoutMs }) =>
        lines.use(lineTo({ appId, environment }), async (line) => line.ping(instanceId, { timeoutMs })),
      async dropApp(appId, environment) {
        const place = { appId, environment };
        known.delete(nameOf(place));
        untended.delete(nameOf(place));
        await lines.use(lineTo(place), async (line) => line.dropStores());
        await lines.end(nameOf(place));
      },
    },
    ensureStores,
    adopt(place) {
      known.set(nameOf(place), place);
      untended.set(nameOf(place), place);
    },
    tendStores: async () => {
      const tending = ensureEach(untended.values());
      tended = tending.catch(() => undefined); // Its caller hears of it.
      return tending;
    },
    async holdStores(isHeld) {
      stores = { isHeld };
      const isInUse = (place: AppPlace): boolean => lines.isOpen(nameOf(place));
      const places = [...known.values()];
      await ensureEach([...places.filter(isInUse), ...places.filter((place) => !isInUse(place))]); // Those first in which something may write now.
    },
    async close() {
      isClosed = true;
      await lines.close();
      await tended;
    },
  };
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
