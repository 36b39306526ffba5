// The test suites, one project each: what needs a broker or Docker has longer limits, and its files mostly wait: for processes, for limits to be over.
import { defineConfig } from "vitest/config";

// On a machine that does other work besides, an instance can be taken for lost for a moment: the one more try is shown in the report.
const retry = process.env["CI"] === "true" ? 1 : 0;
const slow = { testTimeout: 120_000, hookTimeout: 180_000, maxWorkers: 3, retry };

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
