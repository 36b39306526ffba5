// An app on a platform of its own for a whole suite: up before its first test, gone with every trace after its last.
import { rm } from "node:fs/promises";
import { afterAll, beforeAll } from "vitest";
import { type Answer, type PlatformOptions, type RunningPlatform, type SendOptions, makeApp, startPlatform } from "./platform.ts";

export interface ServedApp {
  readonly platform: RunningPlatform;
  /** What staging answers. */
  readonly get: (path: string, options?: SendOptions) => Promise<Answer>;
}

export function serveForSuite(files: Parameters<typeof makeApp>[0], options: Omit<PlatformOptions, "app">): ServedApp {
  let folder: string | null = null;
  let platform: RunningPlatform | null = null;
  const running = (): RunningPlatform => {
    if (platform === null) throw new Error("the platform of this suite is not up: it is there for tests and their hooks only");
    return platform;
  };
  beforeAll(async () => {
    folder = await makeApp(files);
    platform = await startPlatform({ ...options, app: folder });
  });
  afterAll(async () => {
    await platform?.stop();
    if (folder !== null) await rm(folder, { recursive: true, force: true });
  });
  return {
    get platform() {
      return running();
    },
    get: (path, sent) => running().get("staging", path, sent),
  };
}
