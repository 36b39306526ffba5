// The scripts that a builder is tried with: polite ones, and those that take, fill, leave behind and reach for what is not theirs.

export const PRINT = 'console.log("one"); console.error("two"); console.log("three"); console.error("four");';
export const FAIL = "process.exit(7);";
export const LIST = 'for (const name of require("node:fs").readdirSync(".", { recursive: true }).sort()) console.log(name);';

export const ENVIRONMENT = `
const input = require("node:fs").readFileSync(0, "utf8");
console.log(JSON.stringify({ variables: process.env, input }));
`;

export const FLOOD = `
const line = "x".repeat(999);
let left = 30_000;
const print = () => { while (left-- > 0) if (!process.stdout.write(line + "\\n")) return process.stdout.once("drain", print); };
print();
`;

export const WRITE = `
const fs = require("node:fs");
fs.mkdirSync("dist");
fs.writeFileSync("dist/out.txt", "made by a build");
fs.chmodSync("dist/out.txt", 0o4666);
fs.linkSync("dist/out.txt", "dist/again.txt");
fs.symlinkSync("out.txt", "dist/linked");
fs.writeFileSync("dist/run.sh", "#!/bin/sh\\n");
fs.chmodSync("dist/run.sh", 0o755);
fs.mkdirSync("node_modules/x", { recursive: true });
fs.writeFileSync("node_modules/x/index.js", "");
fs.mkdirSync("dist/node_modules");
fs.mkdirSync(".git");
`;

const inDist = (code: string): string => `const fs = require("node:fs"); fs.mkdirSync("dist"); process.chdir("dist"); ${code}`;

export const LINK_OUT = inDist('fs.symlinkSync("/etc/passwd", "leak");');
export const LINK_THROUGH = inDist(
  'fs.mkdirSync("a/b", { recursive: true }); fs.symlinkSync("../..", "a/b/up"); fs.symlinkSync("a/b/up/../../x", "leak");',
);
export const SOCKET = inDist('require("node:net").createServer().listen("socket", () => process.kill(process.pid, "SIGKILL"));').replace(
  'process.kill(process.pid, "SIGKILL")',
  "process.reallyExit(0)", // Without closing, which would remove it.
);
export const LINE_BREAK = inDist('fs.writeFileSync("a\\nb", "");');
export const TOWER =
  'const fs = require("node:fs"); for (let depth = 0; depth < 200; depth += 1) { fs.mkdirSync("f"); process.chdir("f"); }';

/** A sleeper in a session of its own whose parent is gone. */
const leave = (then: string): string => `
const fs = require("node:fs");
const { spawn, spawnSync } = require("node:child_process");
const [, , role] = process.argv;
if (role === "beat") setInterval(() => fs.appendFileSync("beats", "."), 20);
else if (role === "part") spawn(process.execPath, [__filename, "beat"], { detached: true, stdio: "ignore" }).unref();
else {
  spawnSync(process.execPath, [__filename, "part"]);
  const waiting = setInterval(() => {
    if (!fs.existsSync("beats")) return;
    clearInterval(waiting);
    console.log("left");
    ${then}
  }, 10);
}
`;
export const LEAVE = leave("");
export const LEAVE_AND_STAY = leave("setInterval(() => {}, 1_000);");
export const COUNT = `
const count = () => console.log(require("node:fs").statSync("beats").size);
count();
setTimeout(count, 500);
`;
export const STAY = 'console.log("staying"); setInterval(() => {}, 1_000);';

// Those below that take without end give up by themselves, so that a bound which does not hold costs a test and not the machine.
export const MEMORY = `
const kept = [];
setInterval(() => { kept.push(Buffer.alloc(10_000_000, 1)); if (kept.length > 300) process.exit(9); }, 20);
`;
export const MANY_FILES = `
const fs = require("node:fs");
let count = 0;
setInterval(() => { fs.writeFileSync("file-" + count, Buffer.alloc(4_000_000, 1)); if ((count += 1) > 400) process.exit(9); }, 10);
`;
export const ONE_FILE = `
const fs = require("node:fs");
let count = 0;
setInterval(() => { fs.appendFileSync("file", Buffer.alloc(4_000_000, 1)); if ((count += 1) > 400) process.exit(9); }, 10);
`;
export const MANY_PROCESSES = `
const { spawn } = require("node:child_process");
let count = 0;
const attempt = () => {
  const child = spawn("sleep", ["30"], { detached: true, stdio: "ignore" });
  child.once("spawn", () => { count += 1; if (count < 300) setImmediate(attempt); else end(); });
  child.once("error", end);
};
const end = () => { console.log(count); process.exit(0); };
attempt();
`;
export const STAY_A_WHILE = "console.log(process.cwd()); setTimeout(() => {}, 4_000);";
export const INTRUDE = `
const fs = require("node:fs");
const got = [];
const attempt = (what, act) => { try { act(); got.push(what); } catch {} };
attempt("the other's secret", () => fs.readFileSync("PLACE/secret"));
attempt("a file in the other's folder", () => fs.writeFileSync("PLACE/scripts/stay.js", ""));
for (const pid of fs.readdirSync("/proc").filter((name) => /^[0-9]+$/.test(name))) {
  const command = (() => { try { return fs.readFileSync("/proc/" + pid + "/cmdline", "utf8"); } catch { return ""; } })();
  if (command.includes("scripts/stay.js")) attempt("process " + pid, () => process.kill(Number(pid), "SIGKILL"));
}
console.log(got.join(", ") || "nothing");
`;
