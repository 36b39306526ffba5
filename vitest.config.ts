// The test suites, one project each: what needs a broker or Docker has longer limits and runs one file at a time.
import { defineConfig } from "vitest/config";

const slow = { testTimeout: 120_000, hookTimeout: 180_000, fileParallelism: false };

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
