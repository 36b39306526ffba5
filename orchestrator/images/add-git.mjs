// Sees to it that git is in an image: node add-git.mjs. Used while the platform's own image is built, in whatever stands below it.
import { spawnSync } from "node:child_process";

const run = (command, ...args) => spawnSync(command, args, { stdio: ["ignore", "inherit", "inherit"] }).status === 0;
const isThere = (command) => spawnSync(command, ["--version"], { stdio: "ignore" }).status === 0;

if (!isThere("git") && !addedByApt()) {
  process.stderr.write(
    'This image has no git, and none could be got by apt-get. Give one that has it, or let "orchestrator image base" make one.\n',
  );
  process.exit(1);
}

function addedByApt() {
  if (!isThere("apt-get")) return false;
  process.env.DEBIAN_FRONTEND = "noninteractive";
  return (
    run("apt-get", "-q", "update") &&
    run("apt-get", "-q", "install", "-y", "--no-install-recommends", "git", "ca-certificates") &&
    run("rm", "-rf", "/var/lib/apt/lists") &&
    isThere("git")
  );
}
