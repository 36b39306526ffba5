// Which generations this runtime speaks. The older ones have their place here and nothing more.
import type { Generation, InstanceManifest } from "../../contract/instance-manifest.ts";
import { createCurrentGeneration } from "./current.ts";
import type { PayloadAdapter } from "./generation.ts";

type AdapterOf = (instance: InstanceManifest) => PayloadAdapter;

const ADAPTERS: Readonly<Record<Generation, AdapterOf | null>> = {
  current: (instance) => createCurrentGeneration({ apiId: instance.appId }),
  legacy: null,
  simple: null,
  json: null,
  html: null,
};

/** Null where the generation is not served by this runtime yet. */
export const adapterFor = (instance: InstanceManifest): PayloadAdapter | null => ADAPTERS[instance.generation]?.(instance) ?? null;
