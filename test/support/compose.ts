// Reads the compose file of the platform, and says with which arguments "docker run" does the same.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import yaml from "@architect/parser/src/compat/vendor/js-yaml.min.js";
import { CHECKOUT } from "./platform.ts";

interface ComposeFile {
  readonly services: { readonly orchestrator: ComposeService };
  readonly volumes: Readonly<Record<string, { readonly name: string }>>;
}

interface ComposeService {
  readonly image: string;
  readonly container_name: string;
  readonly init: boolean;
  readonly network_mode: string;
  readonly command: readonly string[];
  readonly restart: string;
  readonly stop_grace_period: string;
  readonly volumes: readonly string[];
  readonly logging: { readonly driver: string; readonly options: Readonly<Record<string, string>> };
}

export interface RunArguments {
  readonly options: readonly string[]; // Between "docker run" and the image's name.
  readonly image: string;
  readonly command: readonly string[];
}

const KEYS = ["image", "container_name", "init", "network_mode", "command", "restart", "stop_grace_period", "volumes", "logging"];

/** Fails where the file says anything that is not understood here. */
export function composeAsRun(): RunArguments {
  const file = yaml.load(readFileSync(join(CHECKOUT, "docs/operating/compose.yaml"), "utf8")) as ComposeFile; // Checked below as far as it matters.
  const service = file.services.orchestrator;
  const unknown = Object.keys(service).filter((key) => !KEYS.includes(key));
  if (unknown.length > 0) throw new Error(`compose.yaml says ${unknown.join(", ")}, which this helper does not know`);
  const [, seconds] = /^(\d+)s$/.exec(service.stop_grace_period) ?? [];
  const volume = (text: string): string => {
    const [source = "", ...rest] = text.split(":");
    return [file.volumes[source]?.name ?? source, ...rest].join(":");
  };
  return {
    options: [
      "--detach",
      "--name",
      service.container_name,
      ...(service.init ? ["--init"] : []),
      "--network",
      service.network_mode,
      "--restart",
      service.restart,
      "--stop-timeout",
      seconds ?? "",
      ...service.volumes.flatMap((text) => ["--volume", volume(text)]),
      "--log-driver",
      service.logging.driver,
      ...Object.entries(service.logging.options).flatMap(([name, value]) => ["--log-opt", `${name}=${value}`]),
    ],
    image: service.image,
    command: service.command,
  };
}
