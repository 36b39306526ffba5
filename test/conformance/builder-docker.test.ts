// A builder of the engine "docker" does what every builder does.
import { afterAll } from "vitest";

import { createTestEngine, listOwn, newPlatformId, removeBuildImages } from "../support/docker-rig.ts";
import { builderBehaviour } from "./builder-behaviour.ts";

const platformId = newPlatformId();
afterAll(() => removeBuildImages(platformId));

builderBehaviour("docker", () => createTestEngine(platformId), {
  exempt: {},
  leftovers: () => listOwn("container", platformId),
});
