// docs/operating.md and the files beside it: commands that exist, settings that fit each other, limits that are those of the code.
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { DEFAULT_API_PORT } from "../../../orchestrator/config.ts";
import * as limits from "../../../runtime-image/contract/limits.ts";
import { leaves, problemsOf } from "../../support/command-lines.ts";
import { composeAsRun } from "../../support/compose.ts";
import { CHECKOUT } from "../../support/platform.ts";

const read = (path: string): string => readFileSync(join(CHECKOUT, path), "utf8");
const page = read("docs/operating.md");
const unit = read("docs/operating/orchestrator.service");
const nginx = read("docs/operating/nginx.conf");

/** Lines that go on behind a "\" as one. */
const joined = (text: string): string => text.replaceAll(/\\\n#?\s*/g, "");
const lines = (text: string): string[] => joined(text).split("\n");
/** As the command is called, wherever it lies. */
const called = (text: string): string[] =>
  lines(text)
    .map((line) => line.replaceAll(/\S*orchestrator\/bin\.mjs/g, "orchestrator").replaceAll(/docker exec orchestrator /g, ""))
    .filter((line) => /(?:^|[`=(\s])orchestrator (?!\.)[a-z]/.test(line));
const blocks = [...page.matchAll(/^```\w*\n([\s\S]*?)^```$/gm)].map(([, text = ""]) => text);
const settingsOf = (text: string): Map<string, string> =>
  new Map(
    lines(text).flatMap((line) => {
      const [, key, value] = /^([A-Z][A-Za-z]+)=(.*)$/.exec(line) ?? [];
      return key === undefined || value === undefined ? [] : [[key, value] as const];
    }),
  );
const portOption = (name: string): string =>
  String(leaves.find(({ path }) => path === "serve")?.command.options.find(({ long }) => long === name)?.defaultValue);

describe("docs/operating.md", () => {
  const inProse = [...page.matchAll(/`(?:docker exec orchestrator )?(orchestrator [a-z][^`]*)`/g)].map(([, line = ""]) => line);
  const commands = [...new Set([...blocks.flatMap((block) => called(block).filter((line) => !line.includes("docker "))), ...inProse])];

  it("shows commands", () => {
    expect(commands.length).toBeGreaterThan(12);
  });

  it.each(commands)("shows a command that can be run: %s", (line) => {
    expect(problemsOf(line.replace(/\s+#.*$/, ""))).toEqual([]);
  });

  it("links to files and headings that are there", () => {
    const headings = new Set(
      [...page.matchAll(/^#+ (.+)$/gm)].map(([, text = ""]) =>
        text
          .toLowerCase()
          .replaceAll(/[^\w -]/g, "")
          .replaceAll(" ", "-"),
      ),
    );
    const broken = [...page.matchAll(/\]\(([^)#]*)(?:#([^)]*))?\)/g)].filter(([, file = "", heading]) =>
      file === "" ? !headings.has(heading ?? "") : !existsSync(join(CHECKOUT, "docs", file)),
    );
    expect(broken.map(([link]) => link)).toEqual([]);
  });

  it("tells limits as the code has them", () => {
    const rows = [...page.matchAll(/^\| .+ \| ([^|]+) \| `([A-Z_]+)` \|$/gm)];
    expect(rows.length).toBeGreaterThan(20);
    const known: Readonly<Record<string, unknown>> = limits;
    for (const [, told = "", name = ""] of rows) expect([name, valueOf(told)]).toEqual([name, known[name]]);
  });

  it("names the ports that are taken where nothing else is said", () => {
    const rows = [...page.matchAll(/^\| (gateway of staging|gateway of production|management API) \|.*?port (\d+) \|/gm)];
    const told = Object.fromEntries(rows.map(([, what = "", port = ""]) => [what, port]));
    expect(told).toEqual({
      "gateway of staging": portOption("--staging-port"),
      "gateway of production": portOption("--production-port"),
      "management API": String(DEFAULT_API_PORT),
    });
  });

  it("runs the container as the compose file does", () => {
    const { options, image, command } = composeAsRun();
    const shown = blocks.flatMap(lines).find((line) => line.startsWith("docker run"));
    expect(shown?.split(/\s+/)).toEqual(["docker", "run", ...options, image, ...command]);
    const inDockerfile = lines(read("Dockerfile")).find((line) => line.includes("docker run")) ?? "";
    const said = inDockerfile.replace(/^#\s+docker run\s+/, "").split(/\s+/);
    expect([...options, image]).toEqual(expect.arrayContaining(said));
  });
});

describe("the systemd unit", () => {
  const settings = settingsOf(unit);

  it("starts a command that exists, and leaves apps running where it leaves processes alone", () => {
    const start = settings.get("ExecStart") ?? "";
    expect(called(start).flatMap(problemsOf)).toEqual([]);
    expect(start.includes("--leave-running")).toBe(settings.get("KillMode") === "process");
    expect(start).toContain(`--home /var/lib/${settings.get("StateDirectory")}`);
    expect(start).toContain("--engine docker");
  });

  it("is not started again for a wrong setting, which is what ends the command with that code", () => {
    expect(settings.get("RestartPreventExitStatus")).toBe("2");
    expect(settings.get("Restart")).toBe("always");
  });

  it("takes nothing away that JavaScript or the list of a machine's addresses needs", () => {
    expect(settings.has("MemoryDenyWriteExecute")).toBe(false);
    expect(settings.get("RestrictAddressFamilies")).toContain("AF_NETLINK");
  });

  it("gives a stop as much time as the compose file does", () => {
    const { options } = composeAsRun();
    expect(settings.get("TimeoutStopSec")).toBe(options[options.indexOf("--stop-timeout") + 1]);
  });

  const drops = blocks.filter((block) => block.includes("orchestrator.service.d/"));
  it.each(drops)("is added to by settings that replace its command: %s", (drop) => {
    const starts = lines(drop).filter((line) => line.startsWith("ExecStart="));
    expect(starts[0]).toBe("ExecStart="); // Without it systemd would run both.
    expect(called(starts[1] ?? "").flatMap(problemsOf)).toEqual([]);
    expect(starts[1]).toContain("--leave-running");
  });

  // Where systemd is, it knows best. Everywhere else the tests above have to do.
  it.each(["/usr/bin/systemd-analyze"].filter((path) => existsSync(path)))("is one by the judgement of %s, the drop-ins too", (program) => {
    const folder = mkdtempSync(join(tmpdir(), "orchestrator-unit-"));
    const file = join(folder, "orchestrator.service");
    try {
      for (const text of [unit, ...drops.map((drop) => `${unit.replaceAll(/^ExecStart=.*\n/gm, "")}\n${drop}`)]) {
        writeFileSync(file, text.replaceAll("/opt/orchestrator/orchestrator/bin.mjs", "/bin/true"));
        const { status, stderr } = spawnSync(program, ["verify", "--man=no", file], { encoding: "utf8", timeout: 20_000 });
        expect([status, stderr]).toEqual([0, ""]);
      }
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });
});

describe("the configuration for nginx", () => {
  it("leads to the ports of the platform", () => {
    const ports = new Set([...nginx.matchAll(/127\.0\.0\.1:(\d+)/g)].map(([, port]) => port));
    expect(ports).toEqual(new Set([portOption("--staging-port"), portOption("--production-port"), String(DEFAULT_API_PORT)]));
    expect(nginx).toContain(`proxy_set_header Host localhost:${DEFAULT_API_PORT};`);
  });

  it("says of each visitor what the platform believes a trusted proxy", () => {
    for (const [name, value] of [
      ["For", "$remote_addr"], // Not $proxy_add_x_forwarded_for: what visitors say of themselves would stay.
      ["Proto", "$scheme"],
      ["Host", "$host"],
      ["Port", "$server_port"],
    ])
      expect(nginx).toContain(`proxy_set_header X-Forwarded-${name} ${value};`);
  });

  it("lets pass what the platform takes, and waits for as long as functions may take", () => {
    const [, megabytes] = /client_max_body_size (\d+)m;/.exec(nginx) ?? [];
    expect(Number(megabytes) * 1_048_576).toBeGreaterThan(limits.REQUEST_BODY_BYTES_MAX);
    const [, seconds] = /proxy_read_timeout (\d+)s;/.exec(nginx) ?? [];
    expect(Number(seconds) * 1_000).toBeGreaterThan(limits.HANDLER_TIMEOUT_MS_MAX);
    expect(Number(seconds) * 1_000).toBeGreaterThan(limits.PROXY_TUNNEL_IDLE_TIMEOUT_MS);
  });
});

/** "6 MB", "900 s" or "1,024" in the unit that names end with. */
function valueOf(text: string): number {
  const [, digits = "", unitName = ""] = /^([\d,]+)(?: (\w+))?$/.exec(text) ?? [];
  const factors: Readonly<Record<string, number>> = {
    "": 1,
    s: 1_000,
    KB: 1_000,
    MB: 1_000_000,
    KiB: 1_024,
    MiB: 1_048_576,
    GiB: 1_073_741_824,
  };
  return Number(digits.replaceAll(",", "")) * (factors[unitName] ?? Number.NaN);
}
