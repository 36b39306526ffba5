// A gateway in front of a real upstream and one function: what the tests of @proxy run in.
import { once } from "node:events";
import { request as httpRequest, type IncomingMessage } from "node:http";
import { expect } from "vitest";
import { createWorld, fn, live, startInstance, text, type World } from "./gateway-world.ts";
import { problemOf, type Problem } from "./problems.ts";
import { startUpstream, type Act, type Upstream } from "./test-upstream.ts";
import { until } from "./until.ts";

export interface ProxyRig {
  readonly world: World;
  readonly upstream: Upstream;
  readonly base: string; // Of the gateway: "http://127.0.0.1:1234".
  /** Functions stay as they are: GET /, POST /api/:x and GET /fn-ws answer with the route that they were told. */
  deploy(proxyUrl: string | null): Promise<void>;
  problemAt(path: string): Promise<Problem>;
  /** That the next request is answered, and that nothing of those before it is left. */
  isServed(): Promise<void>;
  /** The head of an answer whose body nobody reads yet. */
  open(path: string): Promise<OpenAnswer>;
  close(): Promise<void>;
}

export interface OpenAnswer {
  readonly incoming: IncomingMessage;
  readonly destroy: () => void;
}

/** The upstream answers /next with "next" by itself. */
export async function startProxyRig(acts: Readonly<Record<string, Act>>): Promise<ProxyRig> {
  const world = await createWorld();
  const base = `http://127.0.0.1:${world.port}`;
  const upstream = await startUpstream({ ...acts, "/next": (_request, response) => response.end("next") });
  const instance = await startInstance(world, "one", ({ header, respond }) => text(respond, `function ${header.route}`));
  const instanceIds = [instance.id];
  const functions = [fn("GET", "/", { instanceIds }), fn("POST", "/api/:x", { instanceIds }), fn("GET", "/fn-ws", { instanceIds })];
  const rig: ProxyRig = {
    world,
    upstream,
    base,
    deploy: (proxyUrl) => world.put({ deployment: { ...live(world, functions), ...(proxyUrl === null ? {} : { proxyUrl }) } }),
    async problemAt(path) {
      const answer = await fetch(base + path);
      return problemOf({ status: answer.status, headers: Object.fromEntries(answer.headers), text: await answer.text() });
    },
    async isServed() {
      expect(await (await fetch(`${base}/next`)).text()).toBe("next");
      await until(async () => (await world.status()).requestCount === 0, { timeoutMs: 5_000, what: "nothing is left in flight" });
    },
    open: (path) => openAnswer(base + path),
    async close() {
      await instance.kill();
      await world.close();
      await upstream.close();
    },
  };
  await rig.deploy(upstream.url);
  await until(async () => (await fetch(base)).status === 200, { timeoutMs: 5_000, what: "the instance answers" });
  return rig;
}

async function openAnswer(url: string): Promise<OpenAnswer> {
  const outgoing = httpRequest(url, { agent: false });
  outgoing.on("error", () => undefined);
  outgoing.end();
  const [incoming] = (await once(outgoing, "response")) as [IncomingMessage]; // What a request emits.
  incoming.on("error", () => undefined);
  return { incoming, destroy: () => outgoing.destroy() };
}

/** An answer that was cut has an error, too; once() would throw it. */
export const closed = (incoming: IncomingMessage): Promise<void> => new Promise((resolve) => void incoming.once("close", () => resolve()));

/** "first ", and "second" a moment later. */
export const slowly: Act = (_request, response) => {
  response.write("first ");
  setTimeout(() => response.end("second"), 200);
};
