// The nginx of this machine with a configuration of docs/, on ports of the test's own.
import { type ChildProcess, spawn } from "node:child_process";
import { accessSync, constants } from "node:fs";
import { once } from "node:events";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { freePort } from "./platform.ts";
import { TEST_CERTIFICATE, TEST_KEY } from "./test-certificate.ts";
import { until } from "./until.ts";

export interface OwnNginx {
  readonly httpPort: number;
  readonly httpsPort: number;
  readonly errors: () => Promise<string>;
  close(): Promise<void>;
}

const FOLDERS = [...(process.env["PATH"] ?? "").split(delimiter), "/usr/sbin", "/usr/local/sbin"];

export function nginxPath(): string | null {
  for (const folder of FOLDERS) {
    try {
      accessSync(join(folder, "nginx"), constants.X_OK);
      return join(folder, "nginx");
    } catch {
      // The next folder may have it.
    }
  }
  return null;
}

/** `ports`: which the file names, and which are meant here. */
export async function startNginx(path: string, file: string, ports: Readonly<Record<number, number>>): Promise<OwnNginx> {
  const folder = await mkdtemp(join(tmpdir(), "orchestrator-nginx-"));
  const [httpPort, httpsPort] = [await freePort(), await freePort()];
  await writeFile(join(folder, "fullchain.pem"), TEST_CERTIFICATE);
  await writeFile(join(folder, "privkey.pem"), TEST_KEY, { mode: 0o600 });
  let text = (await readFile(file, "utf8")).replaceAll("/etc/ssl/example.org", folder);
  for (const [named, meant] of Object.entries({ ...ports, 80: httpPort, 443: httpsPort }))
    text = text.replaceAll(new RegExp(`((?:listen (?:\\[::\\]:)?|127\\.0\\.0\\.1:|localhost:))${named}\\b`, "g"), `$1${meant}`);
  const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
    .map((name) => `${name}_temp_path ${join(folder, name)};`)
    .join("\n");
  await writeFile(
    join(folder, "nginx.conf"),
    `daemon off;\npid ${folder}/pid;\nerror_log ${folder}/error.log;\nevents {}\nhttp {\naccess_log off;\n${temporary}\n${text}\n}\n`,
  );
  const child: ChildProcess = spawn(path, ["-p", folder, "-c", join(folder, "nginx.conf"), "-e", join(folder, "error.log")], {
    stdio: "inherit",
  });
  const errors = async (): Promise<string> => readFile(join(folder, "error.log"), "utf8").catch(() => "");
  await until(async () => (await portAnswers(httpsPort)) || child.exitCode !== null, { timeoutMs: 10_000, what: "nginx listens" });
  if (child.exitCode !== null) throw new Error(`nginx ended with ${child.exitCode}: ${await errors()}`);
  return {
    httpPort,
    httpsPort,
    errors,
    async close() {
      child.kill("SIGQUIT");
      await once(child, "exit");
      await rm(folder, { recursive: true, force: true });
    },
  };
}

async function portAnswers(port: number): Promise<boolean> {
  return new Promise((done) => {
    const socket = connect({ host: "127.0.0.1", port });
    const finish = (isListening: boolean): void => {
      socket.destroy();
      done(isListening);
    };
    socket.once("connect", () => finish(true)).once("error", () => finish(false));
  });
}
