// Judges a Docker engine: whether it can hold functions back, whether its runc has known holes, and what earlier platforms left in it. Pure.
import type { Check } from "./check.ts";
import type { DockerFacts, Leftover } from "./facts.ts";
import { judgeRunc } from "./runc.ts";

type AnsweringDocker = Extract<DockerFacts, { kind: "answers" }>;

export function judgeDocker(docker: DockerFacts): Check[] {
  switch (docker.kind) {
    case "absent":
      return [
        {
          name: "Docker",
          state: "warn",
          detail: `no engine answers at ${docker.endpoint} (${docker.problem}); functions run as processes, with less between them.`,
          remedy: "For containers: ./setup --docker",
        },
      ];
    case "answers":
      return [
        { name: "Docker", state: "ok", detail: `${docker.version} at ${docker.endpoint}, cgroup v${docker.cgroupVersion}` },
        judgeLimits(docker),
        judgeSecurity(docker),
        judgeRuncVersion(docker.runcVersion),
        judgeLeftovers(docker.leftovers),
      ];
  }
}

function judgeLimits(docker: AnsweringDocker): Check {
  const name = "Docker limits";
  const missing = (["memory", "swap", "pids", "cpu"] as const).filter((limit) => !docker.limits[limit]);
  if (missing.length === 0) return { name, state: "ok", detail: "memory, swap, pids and CPU can be limited" };
  const isBad = missing.includes("memory") || missing.includes("pids");
  const remedy =
    docker.cgroupVersion === "1"
      ? "Start the kernel with cgroup_enable=memory swapaccount=1, or move to a system with cgroup v2."
      : "A rootless engine needs its cgroup controllers delegated; Docker's page on rootless mode says how.";
  return {
    name,
    state: isBad ? "bad" : "warn",
    detail: `this engine cannot limit ${missing.join(", ")}: one function can starve the others.`,
    remedy,
  };
}

function judgeSecurity(docker: AnsweringDocker): Check {
  const name = "Docker walls";
  const has = (option: string): boolean => docker.securityOptions.includes(option);
  const named = docker.securityOptions.length === 0 ? "none" : docker.securityOptions.join(", ");
  if (has("seccomp")) return { name, state: "ok", detail: named };
  return {
    name,
    state: "warn",
    detail: `system calls are not filtered (security options: ${named}).`,
    remedy: "Use a kernel and an engine with seccomp.",
  };
}

function judgeRuncVersion(version: string | null): Check {
  const name = "runc";
  const verdicts = version === null ? null : judgeRunc(version);
  if (version === null || verdicts === null)
    return {
      name,
      state: "warn",
      detail: `its version cannot be told (${version ?? "the engine names none"}).`,
      remedy: "Keep the container runtime up to date.",
    };
  const open = verdicts.filter((verdict) => verdict.state === "open");
  if (open.some((verdict) => verdict.isOpenToFunctions)) {
    const cves = open.map((verdict) => verdict.cves).join("; ");
    return {
      name,
      state: "bad",
      detail: `${version}: code in a container can take over this machine (${cves}).`,
      remedy: "Update runc: on Debian and Ubuntu apt-get install runc.",
    };
  }
  const [first] = open;
  if (first !== undefined)
    return {
      name,
      state: "warn",
      detail: `${version} has known holes (${first.cves}). They need a say in how a container is made, which functions do not have.`,
      remedy: "Update runc to 1.2.8, 1.3.3 or newer when your system offers it.",
    };
  const unknown = verdicts.find((verdict) => verdict.state === "unknown");
  if (unknown !== undefined)
    return {
      name,
      state: "warn",
      detail: `${version} is a distribution's build that is not known here; ${unknown.cves} may be open.`,
      remedy: "Look for them in its changelog (apt-get changelog runc), and keep it up to date.",
    };
  return { name, state: "ok", detail: `${version}, no known holes` };
}

const LEFTOVERS_NAMED_MAX = 10; // More than anybody reads; the count says the rest.

function judgeLeftovers(leftovers: readonly Leftover[]): Check {
  const name = "leftovers";
  if (leftovers.length === 0) return { name, state: "ok", detail: "nothing of a platform that is gone" };
  const homes = [...new Set(leftovers.map((one) => one.home))];
  const names = (kind: Leftover["kind"]): string =>
    leftovers
      .filter((one) => one.kind === kind)
      .slice(0, LEFTOVERS_NAMED_MAX)
      .map((one) => one.name)
      .join(" ");
  const commands = [
    names("container") && `docker rm -f ${names("container")}`,
    names("network") && `docker network rm ${names("network")}`,
  ];
  return {
    name,
    state: "warn",
    detail: `${leftovers.length} containers or networks of homes that are gone: ${homes.slice(0, LEFTOVERS_NAMED_MAX).join(", ")}.`,
    remedy: `Unless a platform in a container of its own uses them: ${commands.filter((command) => command !== "").join("; ")}`,
  };
}
