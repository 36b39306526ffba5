// Asks a Docker engine about itself over its HTTP interface: short calls with short deadlines, because this one may be sick.
import { existsSync } from "node:fs";
import { request } from "node:http";
import { describeDockerAddress, type DockerAddress } from "../docker/address.ts";
import { LABELS } from "../docker/labels.ts";
import type { DockerFacts, Leftover } from "./facts.ts";

const CALL_TIMEOUT_MS = 5_000;
const ANSWER_BYTES_MAX = 16_000_000; // A list of thousands of containers.

export async function gatherDockerFacts(address: DockerAddress): Promise<DockerFacts> {
  const endpoint = describeDockerAddress(address);
  try {
    const filters = encodeURIComponent(JSON.stringify({ label: [LABELS.home] }));
    const [version, info, containers, networks] = await Promise.all([
      get(address, "/version"),
      get(address, "/info"),
      get(address, `/containers/json?all=1&filters=${filters}`),
      get(address, `/networks?filters=${filters}`),
    ]);
    return {
      kind: "answers",
      endpoint,
      version: textAt(version, "Version") ?? "unknown",
      runcVersion: runcVersionIn(version),
      cgroupVersion: textAt(info, "CgroupVersion") ?? "1", // Engines before 20.10 know v1 alone, and do not say so.
      limits: {
        memory: flagAt(info, "MemoryLimit"),
        swap: flagAt(info, "SwapLimit"),
        pids: flagAt(info, "PidsLimit"),
        cpu: flagAt(info, "CpuCfsQuota"),
      },
      securityOptions: listAt(info, "SecurityOptions").flatMap((option) => /^name=([a-z-]+)/.exec(String(option))?.[1] ?? []),
      leftovers: [...leftoversIn("container", containers), ...leftoversIn("network", networks)],
    };
  } catch (cause) {
    return { kind: "absent", endpoint, problem: cause instanceof Error ? cause.message : String(cause) };
  }
}

/** A distribution's package version (Debian tells it as the commit) says more than the version alone. */
function runcVersionIn(answer: unknown): string | null {
  const component = listAt(answer, "Components").find((one) => textAt(one, "Name") === "runc");
  const commit = textAt(fieldAt(component, "Details"), "GitCommit") ?? "";
  return /^\d+\.\d+\.\d+.*(?:[+~]ds|ubuntu|[+~]deb)/.test(commit) ? commit : textAt(component, "Version");
}

function leftoversIn(kind: Leftover["kind"], answer: unknown): Leftover[] {
  const items: readonly unknown[] = Array.isArray(answer) ? answer : [];
  return items.flatMap((item) => {
    const home = textAt(fieldAt(item, "Labels"), LABELS.home);
    const [first] = listAt(item, "Names");
    const name = textAt(item, "Name") ?? (typeof first === "string" ? first.replace(/^\//, "") : (textAt(item, "Id") ?? ""));
    return home === null || existsSync(home) ? [] : [{ kind, name, home }];
  });
}

async function get(address: DockerAddress, path: string): Promise<unknown> {
  const place = address.kind === "socket" ? { socketPath: address.path } : { host: address.host, port: address.port };
  return new Promise((done, fail) => {
    const call = request({ ...place, path, headers: { host: "docker" }, signal: AbortSignal.timeout(CALL_TIMEOUT_MS) }, (answer) => {
      const parts: Buffer[] = [];
      let bytes = 0;
      answer.on("error", fail);
      answer.on("data", (part: Buffer) => {
        bytes += part.length;
        if (bytes > ANSWER_BYTES_MAX) answer.destroy(new Error(`its answer is larger than ${ANSWER_BYTES_MAX} bytes`));
        else parts.push(part);
      });
      answer.on("end", () => {
        if (answer.statusCode !== 200) return fail(new Error(`it answered ${path} with ${answer.statusCode}`));
        try {
          done(JSON.parse(Buffer.concat(parts).toString("utf8")));
        } catch (cause) {
          fail(new Error(`its answer to ${path} is no JSON`, { cause }));
        }
      });
    });
    call.on("error", (error) => fail(error.name === "AbortError" ? new Error(`no answer within ${CALL_TIMEOUT_MS / 1000} s`) : error));
    call.end();
  });
}

const fieldAt = (value: unknown, key: string): unknown =>
  typeof value === "object" && value !== null ? Object.entries(value).find(([name]) => name === key)?.[1] : undefined;

function textAt(value: unknown, key: string): string | null {
  const field = fieldAt(value, key);
  return typeof field === "string" ? field : null;
}

const flagAt = (value: unknown, key: string): boolean => fieldAt(value, key) === true;

function listAt(value: unknown, key: string): readonly unknown[] {
  const field = fieldAt(value, key);
  return Array.isArray(field) ? field : [];
}
