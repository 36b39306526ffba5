#!/usr/bin/env node
// Starts the command line on Node 24 or newer: on an older Node it runs itself again on the one that ./setup installed.
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import module from "node:module";
import { fileURLToPath } from "node:url";

const NODE_MAJOR_MIN = 24;
const EXIT_GRACE_MS = 200; // For what is still being written.
const FORWARDED_SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT"];

const checkout = new URL("../", import.meta.url);
const pathIn = (place) => fileURLToPath(new URL(place, checkout));

if (Number(process.versions.node.split(".")[0]) >= NODE_MAJOR_MIN) await runHere();
else runOnNewerNode(pathIn("node_modules/node/bin/node"));

async function runHere() {
  if (!existsSync(pathIn("node_modules/commander"))) refuse("the npm packages are not installed");
  // Stripped and compiled sources are kept, which makes a start about half as long. It goes when node_modules goes.
  module.enableCompileCache(pathIn("node_modules/.cache/orchestrator"));
  stopWithLauncher();
  const { runCli } = await import("./cli.ts");
  process.exitCode = await runCli(process.argv);
  // Whatever a library still waits for (an idle connection, a time limit) is no reason to stay.
  setTimeout(() => process.exit(), EXIT_GRACE_MS).unref();
}

// A launcher that is killed outright can pass nothing on; the end of its channel says as much.
function stopWithLauncher() {
  if (process.channel === undefined) return;
  process.once("disconnect", () => process.kill(process.pid, "SIGTERM"));
  process.channel.unref();
}

function runOnNewerNode(node) {
  if (!existsSync(node)) refuse(`Node ${process.versions.node} is too old, and no newer one is installed here`);
  const argv = [...process.execArgv, fileURLToPath(import.meta.url), ...process.argv.slice(2)];
  // In a session of its own, so that Ctrl-C reaches it once, from here: a second one would mean impatience.
  const child = spawn(node, argv, { stdio: ["inherit", "inherit", "inherit", "ipc"], detached: true });
  for (const signal of FORWARDED_SIGNALS) process.on(signal, () => child.kill(signal));
  child.on("error", (error) => refuse(`${node} does not run (${error.message})`));
  child.on("exit", (code, signal) => {
    if (signal === null) process.exit(code ?? 1);
    // Ends the way the child ended, so that a shell sees the same.
    for (const forwarded of FORWARDED_SIGNALS) process.removeAllListeners(forwarded);
    process.kill(process.pid, signal);
  });
}

function refuse(reason) {
  process.stderr.write(`orchestrator: ${reason}. Run ./setup in ${fileURLToPath(checkout)} first.\n`);
  process.exit(1);
}
