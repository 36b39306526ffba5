// A gateway with an app of static files and two functions: what the tests of static files ask.
import { createHash, randomBytes } from "node:crypto";
import { request as httpRequest, type IncomingHttpHeaders, type IncomingMessage } from "node:http";
import type { PlannedSite } from "../../orchestrator/sites/site.ts";
import { createWorld, fn, live, startInstance, text, type World } from "./gateway-world.ts";
import { createSitesRig, type SitesRig } from "./site-folder.ts";

export const CSS = "body { color: black }\n".repeat(400);
export const LARGE = randomBytes(40_000_000);
export const PICTURE = randomBytes(5_000);
export const FILES = {
  "index.html": "<h1>home</h1>",
  "404.html": "<pre>four o four</pre>",
  "500.html": "<p>our fault</p>",
  "site.css": CSS,
  "picture.png": PICTURE,
  "large.bin": LARGE,
  "data.json": '{"a":1}',
  "sub/index.html": "<h1>sub</h1>",
  "sub/deep.txt": "deep",
  "naïve file.txt": "naïve",
  ".env": "SECRET=1",
};

export const sha256 = (bytes: Uint8Array): string => createHash("sha256").update(bytes).digest("hex");

export interface StaticAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer; // As it travelled.
}

type Routes = readonly (readonly ["GET" | "POST", string])[];

export interface StaticWorld {
  readonly world: World;
  readonly rig: SitesRig;
  readonly site: PlannedSite; // Of FILES.
  /** GET /fails throws; any other function says which it is. */
  deploy(site: PlannedSite, routes?: Routes): Promise<void>;
  get(path: string, headers?: Record<string, string>, method?: string): Promise<StaticAnswer>;
  close(): Promise<void>;
}

const ROUTES: Routes = [
  ["GET", "/fails"],
  ["POST", "/graphql"],
];

export async function createStaticWorld(): Promise<StaticWorld> {
  const rig = createSitesRig();
  const world = await createWorld({ config: { sitesFolder: rig.sitesFolder } });
  const instance = await startInstance(world, "echo1", ({ header, respond }) =>
    header.path === "/fails"
      ? respond({ v: 1, kind: "failed", code: "HANDLER_THREW", message: "secret of the handler" })
      : text(respond, `function ${header.route}`),
  );
  const site = await rig.make(FILES);
  const deploy = async (planned: PlannedSite, routes = ROUTES): Promise<void> => {
    const functions = routes.map(([method, path]) => fn(method, path, { instanceIds: [instance.id] }));
    await world.put({ deployment: withSite(live(world, functions), planned) });
  };
  await deploy(site);
  return {
    world,
    rig,
    site,
    deploy,
    get: async (path, headers = {}, method = "GET") => readAnswer(await ask(world.port, { path, headers, method })),
    async close() {
      await instance.kill();
      await world.close();
      await rig.remove();
    },
  };
}

type LiveDeployment = ReturnType<typeof live>;

export const withSite = (deployment: LiveDeployment, { snapshot }: PlannedSite): LiveDeployment =>
  deployment.kind === "live" ? { ...deployment, site: snapshot } : deployment;

/** Resolves with the head of the answer; nothing of its body is read yet. */
export const ask = (
  port: number,
  sent: { readonly path: string; readonly headers?: Record<string, string>; readonly method?: string },
): Promise<IncomingMessage> =>
  new Promise((resolve, reject) => {
    httpRequest({ host: "127.0.0.1", port, agent: false, ...sent }, resolve)
      .once("error", reject)
      .end();
  });

async function readAnswer(answer: IncomingMessage): Promise<StaticAnswer> {
  const parts: Buffer[] = [];
  for await (const part of answer) parts.push(part as Buffer); // What a response yields without an encoding.
  return { status: answer.statusCode ?? 0, headers: answer.headers, body: Buffer.concat(parts) };
}
