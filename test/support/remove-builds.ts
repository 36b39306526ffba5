// After all tests: images of functions whose platform's home is gone are nobody's any more.
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { promisify } from "node:util";

const run = promisify(execFile);

export async function teardown(): Promise<void> {
  const builds = ["image", "ls", "--quiet", "--no-trunc", "--filter", "label=orchestrator.role=build"];
  // Without an engine there is nothing to remove, and the tests that need one have said so.
  const listed = await run("docker", builds).catch(() => ({ stdout: "" }));
  const ids = [...new Set(listed.stdout.split("\n").filter((id) => id !== ""))];
  const orphans = await Promise.all(ids.map(async (id) => ((await isOrphan(id)) ? [id] : [])));
  // One that another run uses stays; Docker says so and goes on.
  if (orphans.flat().length > 0) await run("docker", ["image", "rm", "--force", ...orphans.flat()]).catch(() => undefined);
}

async function isOrphan(id: string): Promise<boolean> {
  // Another run may have removed it in the meantime.
  const found = await run("docker", ["image", "inspect", "--format", '{{index .Config.Labels "orchestrator.home"}}', id]).catch(() => null);
  return found !== null && !existsSync(found.stdout.trim());
}
