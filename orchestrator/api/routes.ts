// What the management API answers: the state of the platform, its logs, and promote.
import { ENVIRONMENTS, type Environment } from "../../runtime-image/contract/instance-manifest.ts";
import { PlatformError } from "../../runtime-image/contract/errors.ts";
import type { LogFilter, LogStore } from "../logs/log-store.ts";
import type { Deployer } from "../releases/deployer.ts";
import type { ApiRoute } from "./server.ts";

export interface ApiParts {
  readonly deployer: Deployer;
  readonly logs: LogStore;
  readonly facts: () => object;
}

const LOG_COUNT_MAX = 10_000;

export function apiRoutes(parts: ApiParts): ApiRoute[] {
  return [
    {
      method: "GET",
      path: "/api/status",
      answer: { kind: "json", handle: async () => ({ ...parts.facts(), environments: environments(parts.deployer) }) },
    },
    { method: "POST", path: "/api/promote", answer: { kind: "json", handle: async () => promote(parts.deployer) } },
    {
      method: "GET",
      path: "/api/logs",
      answer: { kind: "lines", handle: async (query, write, over) => logLines(parts.logs, query, write, over) },
    },
  ];
}

const environments = (deployer: Deployer): object =>
  Object.fromEntries(
    ENVIRONMENTS.map((environment) => {
      const release = deployer.live(environment);
      return [environment, release === null ? null : { releaseId: release.releaseId, functions: release.functions }];
    }),
  );

async function promote(deployer: Deployer): Promise<object> {
  const { release, failures } = await deployer.promote();
  return { releaseId: release.releaseId, failures };
}

async function logLines(logs: LogStore, query: URLSearchParams, write: (value: unknown) => void, over: AbortSignal): Promise<void> {
  const filter = filterOf(query);
  for (const entry of logs.tail(filter, countOf(query))) write(entry);
  if (query.get("follow") !== "1") return;
  const stop = logs.follow(filter, write);
  await new Promise<void>((done) => over.addEventListener("abort", () => done(), { once: true }));
  stop();
}

function filterOf(query: URLSearchParams): LogFilter {
  const functionName = query.get("functionName");
  const environment = query.get("environment");
  return {
    ...(functionName === null ? {} : { functionName }),
    ...(environment === null ? {} : { environment: knownEnvironment(environment) }),
  };
}

function knownEnvironment(text: string): Environment {
  const known = ENVIRONMENTS.find((name) => name === text);
  if (known === undefined)
    throw new PlatformError("API_INPUT_INVALID", { problems: [`environment: should be one of ${ENVIRONMENTS.join(", ")}, got "${text}"`] });
  return known;
}

function countOf(query: URLSearchParams): number {
  const count = Number(query.get("count") ?? "100");
  if (!Number.isInteger(count) || count < 0 || count > LOG_COUNT_MAX)
    throw new PlatformError("API_INPUT_INVALID", { problems: [`count: should be 0 to ${LOG_COUNT_MAX}, got "${query.get("count")}"`] });
  return count;
}
