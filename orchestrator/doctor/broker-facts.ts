// Reads what a nats-server says of itself to whoever connects, before any login: version, limits, JetStream.
import { connect } from "node:net";
import type { BrokerFacts } from "./facts.ts";

const TIMEOUT_MS = 3_000;
const LINE_BYTES_MAX = 65_536;
const DEFAULT_PORT = 4222;

export async function gatherBrokerFacts(url: string): Promise<BrokerFacts> {
  try {
    const info: unknown = JSON.parse(await firstLine(new URL(url)));
    if (typeof info !== "object" || info === null) throw new Error("it does not speak as a nats-server does");
    const { version, max_payload: payload, jetstream } = info as { version?: unknown; max_payload?: unknown; jetstream?: unknown }; // Each is checked below.
    return {
      kind: "answers",
      url,
      version: typeof version === "string" ? version : "unknown",
      payloadBytesMax: typeof payload === "number" ? payload : 0,
      hasJetStream: jetstream === true,
    };
  } catch (cause) {
    return { kind: "silent", url, problem: cause instanceof Error ? cause.message : String(cause) };
  }
}

async function firstLine(url: URL): Promise<string> {
  return new Promise((done, fail) => {
    const host = url.hostname.replace(/^\[|\]$/g, "");
    const socket = connect({ host, port: url.port === "" ? DEFAULT_PORT : Number(url.port), timeout: TIMEOUT_MS });
    let text = "";
    const end = (settle: () => void): void => {
      socket.destroy();
      settle();
    };
    socket.setEncoding("latin1");
    socket.on("data", (part: string) => {
      text += part;
      const length = text.indexOf("\r\n");
      if (length >= 0 && text.startsWith("INFO ")) end(() => done(text.slice("INFO ".length, length)));
      else if (length >= 0 || text.length > LINE_BYTES_MAX) end(() => fail(new Error("it does not speak as a nats-server does")));
    });
    socket.on("timeout", () => end(() => fail(new Error(`no word within ${TIMEOUT_MS / 1000} s`))));
    socket.on("error", (error: NodeJS.ErrnoException) => end(() => fail(new Error(error.code ?? error.message))));
    socket.on("close", () => fail(new Error("it closed the connection")));
  });
}
