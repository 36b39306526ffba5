// The text of the broker's configuration: for the nats-server that we run, and for one that an owner runs.
import {
  BROKER_CONNECTION_COUNT_MAX,
  BROKER_DISK_BYTES_MAX,
  BROKER_LOG_BYTES_MAX,
  BROKER_LOG_FILE_COUNT_MAX,
  BROKER_MEMORY_STORE_BYTES_MAX,
  BROKER_PAYLOAD_BYTES_MAX,
  BROKER_PENDING_BYTES_MAX,
  BROKER_WRITE_DEADLINE_MS,
} from "../../runtime-image/contract/limits.ts";
import type { BrokerTrust } from "./accounts.ts";

export interface ServerPlace {
  readonly host: string;
  readonly port: number;
  readonly serverName: string;
  readonly accountsFolder: string;
  readonly storeFolder: string;
  readonly logFile: string;
}

/** For the server that the orchestrator runs. It listens on one address, and has no HTTP monitor. */
export function managedServerConfig(place: ServerPlace, trust: BrokerTrust): string {
  return [
    "# Written by orchestrator at every start of the broker; changes are lost.",
    `listen: ${quote(address(place))}`,
    `server_name: ${quote(place.serverName)}`,
    "",
    `log_file: ${quote(place.logFile)}`,
    `logfile_size_limit: ${BROKER_LOG_BYTES_MAX}`,
    `logfile_max_num: ${BROKER_LOG_FILE_COUNT_MAX}`,
    "logtime_utc: true",
    "",
    `max_connections: ${BROKER_CONNECTION_COUNT_MAX}`,
    // A frozen container answers no pings and must still be known when it thaws. A vanished process closes its socket at once.
    'ping_interval: "10m"',
    "ping_max: 6",
    'lame_duck_grace_period: "1s"',
    'lame_duck_duration: "30s"',
    "",
    ...sharedLines(trust, place),
  ].join("\n");
}

/** For a server that the owner runs: what its configuration must include. How it listens and logs stays the owner's. */
export function externalServerConfig(trust: BrokerTrust, place: Pick<ServerPlace, "accountsFolder" | "storeFolder">): string {
  return [
    "# What a nats-server needs to carry this platform: include it in the server's own configuration, and restart the server.",
    "# Add listen, server_name, tls and cluster there as you like. The two folders below are the server's own; change them freely.",
    "# Nothing here is secret: the keys stay in the home of the platform.",
    "",
    ...sharedLines(trust, place),
  ].join("\n");
}

function sharedLines(trust: BrokerTrust, folders: Pick<ServerPlace, "accountsFolder" | "storeFolder">): string[] {
  return [
    `max_payload: ${BROKER_PAYLOAD_BYTES_MAX}`,
    `max_pending: ${BROKER_PENDING_BYTES_MAX}`,
    `write_deadline: "${BROKER_WRITE_DEADLINE_MS}ms"`,
    "",
    `operator: ${trust.operatorJwt}`,
    `system_account: ${trust.system.publicKey}`,
    "resolver: {",
    "  type: full",
    `  dir: ${quote(folders.accountsFolder)}`,
    "  allow_delete: true",
    '  interval: "2m"',
    "  limit: 100000",
    "}",
    "resolver_preload: {",
    ...trust.preloaded.map((account) => `  ${account.publicKey}: ${account.jwt} # ${account.name}`),
    "}",
    "",
    "jetstream: {",
    `  store_dir: ${quote(folders.storeFolder)}`,
    "  sync_interval: always # An acknowledged write is on disk.",
    `  max_memory_store: ${BROKER_MEMORY_STORE_BYTES_MAX}`,
    `  max_file_store: ${BROKER_DISK_BYTES_MAX}`,
    "}",
    "",
  ];
}

const address = (place: ServerPlace): string =>
  place.host.includes(":") ? `[${place.host}]:${place.port}` : `${place.host}:${place.port}`;

/** The configuration's strings know the escapes of JSON that a path can need. */
const quote = (text: string): string => JSON.stringify(text);
