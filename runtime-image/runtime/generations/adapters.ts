// Which payload adapter serves which generation.
import type { Generation, InstanceManifest } from "../../contract/instance-manifest.ts";
import { createCurrentGeneration } from "./current.ts";
import type { PayloadAdapter } from "./generation.ts";
import { createLegacyGeneration } from "./legacy.ts";
import { createSimpleGeneration } from "./simple.ts";

type AdapterOf = (instance: Pick<InstanceManifest, "appId" | "rawJson" | "bareQuery">) => PayloadAdapter;

// The library's wrappers of json and html functions read headers by lower-case names.
const wrapped: AdapterOf = ({ appId, rawJson }) => createLegacyGeneration({ apiId: appId, rawJson, lowerCaseHeaders: true });

const ADAPTERS: Readonly<Record<Generation, AdapterOf>> = {
  current: ({ appId, rawJson, bareQuery }) => createCurrentGeneration({ apiId: appId, rawJson, bareQuery }),
  legacy: ({ appId, rawJson }) => createLegacyGeneration({ apiId: appId, rawJson, lowerCaseHeaders: false }),
  simple: createSimpleGeneration,
  json: wrapped,
  html: wrapped,
};

export const adapterFor = (instance: InstanceManifest): PayloadAdapter => ADAPTERS[instance.generation](instance);
