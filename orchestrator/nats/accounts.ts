// Signs what the broker believes: the operator, its accounts with their limits, and credentials for each user.
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { encodeAccount, encodeOperator, encodeUser } from "@nats-io/jwt";
import type { Account, KeyPair, OperatorLimits } from "@nats-io/jwt";
import type { BrokerAccess, Environment } from "../../runtime-image/contract/instance-manifest.ts";
import {
  BROKER_ACCOUNT_CONNECTION_COUNT_MAX,
  BROKER_GATEWAY_SUBSCRIPTION_COUNT_MAX,
  BROKER_PAYLOAD_BYTES_MAX,
  BROKER_STATE_BYTES_MAX,
  BROKER_STORE_BYTES_MAX,
  BROKER_STORE_CONSUMER_COUNT_MAX,
  BROKER_STORE_STREAM_COUNT_MAX,
} from "../../runtime-image/contract/limits.ts";
import type { BrokerKeys } from "./keys.ts";
import { createNkey, type Nkey } from "./nkey.ts";
import {
  controlRights,
  gatewayRights,
  gatewaySnapshotRights,
  instanceRights,
  orchestratorRights,
  storeKeeperRights,
  systemRights,
  type UserRights,
} from "./rights.ts";

/** What a user needs beside the address of the broker. */
export type Credentials = Omit<BrokerAccess, "url">;

export interface SignedAccount {
  readonly name: string;
  readonly publicKey: string;
  readonly jwt: string;
}

/** What a server must be told before it starts: the rest is sent to it later. */
export interface BrokerTrust {
  readonly operatorJwt: string;
  readonly system: SignedAccount;
  readonly preloaded: readonly SignedAccount[]; // The system account, "platform", and one per environment for its gateways.
}

/** "platform" is the control plane's own; gateways of an environment share one that no other environment's can reach. */
export interface BrokerSigner {
  trust(): Promise<BrokerTrust>;
  appAccount(appId: string, environment: Environment): Promise<SignedAccount>;
  appAccountKey(appId: string, environment: Environment): string; // Public.

  systemCredentials(): Promise<Credentials>;
  orchestratorPlatformCredentials(): Promise<Credentials>;
  orchestratorGatewaysCredentials(environment: Environment): Promise<Credentials>;
  gatewayPlatformCredentials(environment: Environment): Promise<Credentials>;
  gatewayCredentials(appId: string, environment: Environment): Promise<Credentials>;
  controlCredentials(appId: string, environment: Environment): Promise<Credentials>;
  storeKeeperCredentials(appId: string, environment: Environment): Promise<Credentials>;
  instanceCredentials(appId: string, environment: Environment, instanceId: string): Promise<Credentials>;
}

export function createBrokerSigner(keys: BrokerKeys): BrokerSigner {
  const { operator, system, platform, gateways, app } = keys;
  return {
    trust: async () => {
      const signedSystem = await signAccount("system", system, operator, SYSTEM_ACCOUNT);
      const preloaded = [
        signedSystem,
        await signAccount("platform", platform, operator, STATE_ACCOUNT),
        await signAccount("gateways-staging", gateways.staging, operator, STATE_ACCOUNT),
        await signAccount("gateways-production", gateways.production, operator, STATE_ACCOUNT),
      ];
      const operatorJwt = await encodeOperator("orchestrator", keyPair(operator), { system_account: system.publicKey });
      return { operatorJwt, system: signedSystem, preloaded };
    },
    appAccount: (appId, environment) => signAccount(`app-${appId}-${environment}`, app(appId, environment), operator, APP_ACCOUNT),
    appAccountKey: (appId, environment) => app(appId, environment).publicKey,

    systemCredentials: () => signUser("orchestrator", system, systemRights()),
    orchestratorPlatformCredentials: () => signUser("orchestrator", platform, orchestratorRights()),
    orchestratorGatewaysCredentials: (environment) => signUser("orchestrator", gateways[environment], orchestratorRights()),
    gatewayPlatformCredentials: (environment) =>
      signUser(`gateway-${environment}`, gateways[environment], gatewaySnapshotRights(environment)),
    gatewayCredentials: (appId, environment) => signUser(`gateway-${environment}`, app(appId, environment), gatewayRights()),
    controlCredentials: (appId, environment) => signUser("orchestrator", app(appId, environment), controlRights()),
    storeKeeperCredentials: (appId, environment) => signUser("orchestrator stores", app(appId, environment), storeKeeperRights()),
    instanceCredentials: (appId, environment, instanceId) =>
      signUser(`instance-${instanceId}`, app(appId, environment), instanceRights(instanceId)),
  };
}

/** Whether two tokens say the same, whenever they were signed. */
export function saysTheSame(first: string, second: string): boolean {
  const claims = claimsOf(first);
  return claims !== null && claims === claimsOf(second);
}

/** What a token says, without the moment at which it was signed; null for a text that is no token. Its signature is the broker's to check. */
export function claimsOf(jwt: string): string | null {
  try {
    const value: unknown = JSON.parse(Buffer.from(jwt.split(".")[1] ?? "", "base64url").toString("utf8"));
    if (typeof value !== "object" || value === null) return null;
    return JSON.stringify({ ...value, jti: undefined, iat: undefined });
  } catch {
    return null;
  }
}

const CLOSED_LIMITS: OperatorLimits = {
  imports: 0,
  exports: 0,
  wildcards: false,
  leaf: 0,
  disallow_bearer: true,
  data: -1,
  mem_storage: 0,
  disk_storage: 0,
  streams: 0,
  consumer: 0,
};

/** One app in one environment: bounded, two buckets on disk, nothing shared with any other account. */
const APP_ACCOUNT: Partial<Account> = {
  limits: {
    ...CLOSED_LIMITS,
    conn: BROKER_ACCOUNT_CONNECTION_COUNT_MAX,
    subs: BROKER_GATEWAY_SUBSCRIPTION_COUNT_MAX,
    payload: BROKER_PAYLOAD_BYTES_MAX,
    disk_storage: BROKER_STORE_BYTES_MAX,
    streams: BROKER_STORE_STREAM_COUNT_MAX,
    consumer: BROKER_STORE_CONSUMER_COUNT_MAX,
  },
};

/** Snapshots or control state: a few small buckets on disk. */
const STATE_ACCOUNT: Partial<Account> = {
  limits: {
    ...CLOSED_LIMITS,
    conn: 256, // The orchestrator and an environment's gateways, a few at once while they are replaced.
    subs: BROKER_GATEWAY_SUBSCRIPTION_COUNT_MAX,
    payload: BROKER_PAYLOAD_BYTES_MAX,
    disk_storage: BROKER_STATE_BYTES_MAX,
    streams: 16,
    consumer: 1_024, // A watch is a consumer; those of a gateway that was killed linger for some minutes.
  },
};

const SYSTEM_ACCOUNT: Partial<Account> = {
  limits: {
    ...CLOSED_LIMITS,
    exports: -1,
    wildcards: true,
    conn: 64,
    subs: BROKER_GATEWAY_SUBSCRIPTION_COUNT_MAX,
    payload: BROKER_PAYLOAD_BYTES_MAX,
  },
};

async function signAccount(name: string, key: Nkey, operator: Nkey, account: Partial<Account>): Promise<SignedAccount> {
  // The library writes its type into the object that it is given.
  const jwt = await encodeAccount(name, keyPair(key), structuredClone(account), { signer: keyPair(operator) });
  return { name, publicKey: key.publicKey, jwt };
}

/** Everyone gets a key of their own. */
async function signUser(name: string, account: Nkey, rights: UserRights): Promise<Credentials> {
  assert(rights.publish.length > 0 && rights.subscribe.length > 0, "an empty list of subjects would allow all of them");
  const user = createNkey("user", randomBytes(32));
  const jwt = await encodeUser(name, keyPair(user), keyPair(account), {
    pub: { allow: [...rights.publish] },
    sub: { allow: [...rights.subscribe] },
    ...(rights.answers === null ? {} : { resp: { max: rights.answers.countMax, ttl: rights.answers.ttlMs * 1_000_000 } }),
    subs: rights.subscriptionCountMax,
    payload: rights.payloadBytesMax,
    data: -1,
    bearer_token: false,
    allowed_connection_types: ["STANDARD"],
  });
  return { jwt, seed: user.seed };
}

/** A key as the library wants it. Of these methods it calls four. */
function keyPair(key: Nkey): KeyPair {
  const unused = (): never => {
    throw new Error("signing tokens needs no such thing");
  };
  return {
    getPublicKey: () => key.publicKey,
    getPrivateKey: () => new TextEncoder().encode(key.seed), // Only asked for to see whether there is one.
    getSeed: () => new TextEncoder().encode(key.seed),
    sign: (bytes) => key.sign(bytes),
    verify: unused,
    clear: unused,
    seal: unused,
    open: unused,
  };
}
