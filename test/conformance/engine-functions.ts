// The functions that the engines' behaviour list runs: plain code of users, some of it hostile.

/** Answers with what it was asked, and prints. */
export const POLITE = `
let requestCount = 0;
exports.handler = async (event) => {
  requestCount += 1;
  switch (event.rawPath) {
    case "/print":
      console.log("a line for people");
      console.error("a line of trouble");
      process.stdout.write("a line past the console\\n");
      return { statusCode: 200, body: "printed" };
    case "/slow":
      console.log("slow began");
      await new Promise((resolve) => setTimeout(resolve, 700));
      return { statusCode: 200, body: "slow ended" };
    case "/environment":
      return { statusCode: 200, body: JSON.stringify(process.env) };
    default:
      return { statusCode: 200, headers: { "x-count": String(requestCount) }, body: "hello " + event.rawPath + event.rawQueryString };
  }
};
`;

export const BROKEN = `throw new Error("broken on load");\n`;

/** Answers with what it could load of its build, and what of that it could not. */
export const LOADING = `
exports.handler = async () => {
  const found = {};
  const load = async (name, take) => { found[name] = await take().catch((error) => String(error.code ?? error.message)); };
  await load("own package", async () => require("own").value);
  await load("package of the app", async () => require("linked").value);
  await load("shared", async () => require("@architect/shared/greeting.js").text);
  await load("file of the app", async () => require("../../lib/price.js"));
  await load("imported", async () => (await import("own")).default.value);
  await load("library", async () => typeof require("@architect/functions").http);
  await load("imported library", async () => { const { http } = await import("@orchestrator/functions"); return typeof http; });
  await load("data", async () => typeof require("@begin/data").get);
  found.folder = process.cwd() === __dirname;
  return { statusCode: 200, body: JSON.stringify(found) };
};
`;

/** Tries one thing per path, and answers with what came of it: "done", or the error's code. */
export const HOSTILE = `
const fs = require("node:fs");
const os = require("node:os");
const path = require("node:path");
const { once } = require("node:events");
const builds = path.resolve(__dirname, "../../../.."); // Of the engine "process"; a container holds its own only.
const attempts = {
  "write-temporary": () => fs.writeFileSync(path.join(os.tmpdir(), "mine"), "x"),
  "write-own-build": () => fs.writeFileSync(path.join(__dirname, "index.js"), "x"),
  "add-to-own-build": () => fs.writeFileSync(path.join(__dirname, "more.js"), "x"),
  "write-beside-temporary": () => fs.writeFileSync(path.join(os.tmpdir(), "..", "..", "evil"), "x"),
  "write-root": () => fs.writeFileSync("/evil", "x"),
  "write-etc": () => fs.writeFileSync("/etc/evil", "x"),
  "read-build": ({ build }) => fs.readFileSync(path.join(builds, build, "src/http/get-index/index.js")),
  "list-builds": ({ build }) => { if (!fs.readdirSync(builds).includes(build)) throw Object.assign(new Error(), { code: "NOT_THERE" }); },
  "link-to-build": ({ build }) => {
    const link = path.join(os.tmpdir(), "link");
    fs.symlinkSync(path.join(builds, build, "src/http/get-index"), link);
    fs.readFileSync(path.join(link, "index.js"));
  },
  "hard-link-to-build": ({ build }) => {
    const link = path.join(os.tmpdir(), "hard-link");
    fs.linkSync(path.join(builds, build, "src/http/get-index/index.js"), link);
    fs.readFileSync(link);
  },
  "start-child": () => require("node:child_process").execFileSync(process.execPath, ["-e", "1"]),
  "become-other": () => process.execve(process.execPath, [process.execPath, "-e", "1"], {}),
  "free-thread": async () => {
    const { Worker } = require("node:worker_threads");
    const code = 'require("node:fs").readFileSync(process.env.WANTED); require("node:child_process").execFileSync(process.execPath, ["-e", "1"])';
    await once(new Worker(code, { eval: true, execArgv: ["--no-permission"], env: { WANTED: path.join(__dirname, "index.js") } }), "exit");
  },
  "hooks-thread": async () => {
    // Hooks run in a thread that Node starts by itself.
    const code = 'import { Worker } from "node:worker_threads"; new Worker("", { eval: true, execArgv: ["--no-permission"] });';
    require("node:module").register("data:text/javascript," + encodeURIComponent(code));
    await import("data:text/javascript,1");
  },
  "native-module": () => process.dlopen({ exports: {} }, path.join(os.tmpdir(), "none.node")),
};
const early = {};
const tryEarly = async () => {
  for (const name of ["free-thread", "hooks-thread"]) early[name] = await outcome(attempts[name], {});
};
async function outcome(attempt, given) {
  try {
    await attempt(given);
    return "done";
  } catch (error) {
    return String(error.code ?? error.message);
  }
}
const whenEarly = process.env.TRY_EARLY === "yes" ? tryEarly() : null;
exports.handler = async (event) => {
  await whenEarly;
  const name = event.rawPath.slice(1);
  const given = event.queryStringParameters ?? {};
  return { statusCode: 200, body: name === "early" ? JSON.stringify(early) : await outcome(attempts[name], given) };
};
`;

/** Takes memory, or threads and children, for as long as it is let. */
export const GREEDY = `
const kept = [];
const pause = () => new Promise((resolve) => setTimeout(resolve, 20));
const BLOCK_BYTES = 16_000_000;
const BYTES_MAX = 1_600_000_000;
const HELPER_COUNT_MAX = 60;
const HELPER_TIMEOUT_MS = 4_000; // A Node that was refused some of its threads may neither start nor end.
const started = (subscribe) =>
  new Promise((resolve, reject) => {
    subscribe(resolve, reject);
    setTimeout(reject, HELPER_TIMEOUT_MS);
  });
exports.handler = async (event) => {
  if (event.rawPath === "/memory") {
    for (let bytes = 0; bytes < BYTES_MAX; bytes += BLOCK_BYTES) {
      kept.push(Buffer.alloc(BLOCK_BYTES, 1));
      await pause();
    }
    return { statusCode: 200, body: "took it all" };
  }
  const forever = "setInterval(() => {}, 1000)";
  let startedCount = 0;
  for (let tries = 0; tries < HELPER_COUNT_MAX; tries += 1) {
    try {
      if (event.rawPath === "/threads") {
        const { Worker } = require("node:worker_threads");
        const worker = new Worker(forever, { eval: true }).on("error", () => {});
        await started((resolve, reject) => worker.once("online", resolve).once("error", reject));
      } else {
        const child = require("node:child_process").spawn(process.execPath, ["-e", "process.stdout.write('up');" + forever], { stdio: ["ignore", "pipe", "ignore"] });
        await started((resolve, reject) => { child.once("error", reject).once("exit", reject); child.stdout.once("data", resolve); });
      }
      startedCount += 1;
    } catch {
      break;
    }
  }
  return { statusCode: 200, body: String(startedCount) };
};
`;
