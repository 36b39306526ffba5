// Visitors that keep coming, at a pace of their own, on connections that stay open: what they got is looked at afterwards.
import { Agent, type IncomingMessage, request } from "node:http";
import { Agent as SecureAgent, request as secureRequest } from "node:https";
import { setTimeout as delay } from "node:timers/promises";

export interface LoadOptions {
  readonly port: number;
  readonly host?: string; // Of the Host header.
  readonly path: string;
  readonly connectionCount: number;
  readonly isSecure?: boolean; // Over TLS, whatever the certificate.
  readonly intervalMs: number; // Between two requests, whether the ones before are answered or not.
}

export interface LoadResult {
  readonly answeredCount: number;
  /** Transport errors and answers that are no 200, by what they were. */
  readonly failures: readonly string[];
  readonly texts: ReadonlySet<string>;
}

/** Sends requests while the work goes on, waits for the last of them, and tells how they fared. */
export async function loadDuring(options: LoadOptions, work: () => Promise<void>): Promise<LoadResult> {
  const agentOptions = { keepAlive: true, maxSockets: options.connectionCount };
  const agent = options.isSecure === true ? new SecureAgent({ ...agentOptions, rejectUnauthorized: false }) : new Agent(agentOptions);
  const failures: string[] = [];
  const texts = new Set<string>();
  const open = new Set<Promise<void>>();
  const state = { isOver: false, answeredCount: 0 };
  const sendOne = async (): Promise<void> => {
    try {
      const { status, text } = await visit(agent, options);
      state.answeredCount += 1;
      if (status === 200) texts.add(text);
      else failures.push(`${status} ${text.slice(0, 200)}`);
    } catch (cause) {
      failures.push(String(cause));
    }
  };
  const visitors = (async () => {
    while (!state.isOver) {
      const one = sendOne().finally(() => open.delete(one));
      open.add(one);
      await delay(options.intervalMs);
    }
  })();
  try {
    await work();
  } finally {
    state.isOver = true;
    await visitors;
    await Promise.all(open);
    agent.destroy();
  }
  return { answeredCount: state.answeredCount, failures, texts };
}

async function visit(agent: Agent, { port, host, path, isSecure }: LoadOptions): Promise<{ status: number; text: string }> {
  const response = await new Promise<IncomingMessage>((done, fail) => {
    const headers = host === undefined ? {} : { host };
    (isSecure === true ? secureRequest : request)({ agent, host: "127.0.0.1", port, path, headers, timeout: 30_000 })
      .once("response", done)
      .once("error", fail)
      .once("timeout", () => fail(new Error("no answer within 30 s")))
      .end();
  });
  let text = "";
  for await (const part of response.setEncoding("utf8")) text += String(part);
  return { status: response.statusCode ?? 0, text };
}
