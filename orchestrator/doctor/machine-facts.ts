// Looks at the machine itself: ports, disk, memory, open files, loopback addresses, and the nats-server that is installed.
import { constants } from "node:fs";
import { access, statfs } from "node:fs/promises";
import { get } from "node:http";
import { createServer } from "node:net";
import { totalmem } from "node:os";
import { dirname, resolve } from "node:path";
import { PlatformError } from "../../runtime-image/contract/errors.ts";
import { findNatsServer, type NatsBinarySearch } from "../nats/binary.ts";
import type { DiskFacts, Facts, NatsFacts, PortFacts } from "./facts.ts";

const PORT_ANSWER_TIMEOUT_MS = 1_000;
const LOOPBACKS = ["127.0.0.1", "::1"];

export async function gatherNatsFacts(search: NatsBinarySearch): Promise<NatsFacts> {
  try {
    return { kind: "found", ...(await findNatsServer(search)) };
  } catch (cause) {
    if (cause instanceof PlatformError) return { kind: "unusable", problem: cause.message, remedy: cause.detail.remedy ?? "Run ./setup." };
    throw cause;
  }
}

export type PortQuestion = Pick<PortFacts, "port" | "purpose" | "flag">;

export async function gatherPortFacts(question: PortQuestion): Promise<PortFacts> {
  const codes = await Promise.all(LOOPBACKS.map((host) => tryListening(host, question.port)));
  if (codes.includes("EADDRINUSE")) return { ...question, state: (await isAnsweredByUs(question.port)) ? "ours" : "taken" };
  return { ...question, state: codes.includes("EACCES") ? "forbidden" : "free" }; // A machine without IPv6 says EADDRNOTAVAIL: fine.
}

/** Null where the port could be listened on; it is let go again at once. */
async function tryListening(host: string, port: number): Promise<string | null> {
  return new Promise((done) => {
    const server = createServer();
    server.once("error", (error: NodeJS.ErrnoException) => done(error.code ?? error.message));
    server.listen({ host, port, ipv6Only: true }, () => server.close(() => done(null)));
  });
}

/** Everything of ours answers GET / with a request id, or says which product it is. */
async function isAnsweredByUs(port: number): Promise<boolean> {
  return new Promise((done) => {
    const call = get(
      { host: "localhost", port, path: "/", headers: { host: `localhost:${port}` }, timeout: PORT_ANSWER_TIMEOUT_MS },
      (answer) => {
        let text = "";
        answer.setEncoding("utf8");
        answer.on("data", (part: string) => {
          text = (text + part).slice(0, 1_000); // Our API says in fewer characters what it is.
        });
        answer.on("error", () => done(false));
        answer.on("end", () => done(answer.headers["x-request-id"] !== undefined || text.includes('"product":"orchestrator"')));
      },
    );
    call.on("timeout", () => call.destroy());
    call.on("error", () => done(false));
  });
}

/** Of the nearest folder that exists: a home is made at the first start only. */
export async function gatherDiskFacts(home: string): Promise<DiskFacts> {
  let path = resolve(home);
  for (;;) {
    try {
      const { bavail, bsize } = await statfs(path);
      const isWritable = await access(path, constants.W_OK).then(
        () => true,
        () => false,
      );
      return { path, freeBytes: bavail * bsize, isWritable };
    } catch (cause) {
      if (path === dirname(path)) throw cause; // Not even the root can be looked at.
      path = dirname(path);
    }
  }
}

export const gatherMemoryFacts = (): Facts["memory"] => ({ totalBytes: totalmem(), availableBytes: process.availableMemory() });

export async function hasIpv6Loopback(): Promise<boolean> {
  return (await tryListening("::1", 0)) === null;
}

/** Node raises its soft limit to the hard one when it starts, so this is what our processes get. */
export function fileDescriptorCountMax(): number | null {
  const report: unknown = Object.assign(process.report, { excludeNetwork: true }).getReport(); // Without names looked up for addresses.
  const { userLimits } = report as { userLimits?: { open_files?: { soft?: number | string } } }; // Node's report has no types of its own.
  const soft = userLimits?.open_files?.soft;
  if (soft === undefined) return null;
  return soft === "unlimited" ? Number.MAX_SAFE_INTEGER : Number(soft);
}
