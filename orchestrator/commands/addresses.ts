// Where a platform answers, for the block that it shows when it is ready.
import type { PlatformSettings } from "../config.ts";

export const addressesOf = ({ tls, stagingPort, productionPort, apiPort }: PlatformSettings) => {
  const scheme = tls === null ? "http" : "https";
  return {
    staging: `${scheme}://localhost:${stagingPort}`,
    production: `${scheme}://localhost:${productionPort}`,
    api: `http://localhost:${apiPort}`,
  };
};
