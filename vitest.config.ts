// The test suites, one project each: what needs a broker or Docker has longer limits, and two files at a time wait for each other's processes.
import { defineConfig } from "vitest/config";

const slow = { testTimeout: 120_000, hookTimeout: 180_000, maxWorkers: 2 };

export default defineConfig({
  test: {
    globalSetup: ["test/support/remove-builds.ts"],
    projects: [
      { test: { name: "unit", include: ["test/unit/**/*.test.ts"] } },
      { test: { name: "tidy", include: ["test/tidy/**/*.test.ts"] } },
      { test: { name: "conformance", include: ["test/conformance/**/*.test.ts"], ...slow } },
      { test: { name: "integration", env: { TESTCONTAINERS_RYUK_DISABLED: "true" }, include: ["test/integration/**/*.test.ts"], ...slow } },
      { test: { name: "e2e", include: ["test/e2e/**/*.test.ts"], ...slow } },
    ],
  },
});
