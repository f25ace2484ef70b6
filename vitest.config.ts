import { defineConfig } from "vitest/config";

// Packages are tested from their sources; only what spawns a process of its own needs the build.
const conditions = ["@claimcheck/source", "module", "node", "development|production"];
const shared = { resolve: { conditions }, ssr: { resolve: { conditions, externalConditions: ["node"] } } };

export default defineConfig({
  ...shared,
  test: {
    projects: [
      {
        ...shared,
        test: {
          name: "fast",
          sequence: { groupOrder: 0 },
          // Loading the SDK and zod anew for each of more than a hundred files would take most of the time.
          isolate: false,
          include: ["packages/*/test/**/*.test.ts", "test/**/*.test.ts"],
          exclude: ["**/*.live.test.ts", "**/*.isolated.test.ts", "**/node_modules/**"],
        },
      },
      {
        ...shared,
        test: {
          // What changes a module that others use, or imports other test files.
          name: "fast-isolated",
          sequence: { groupOrder: 0 },
          include: ["packages/*/test/**/*.isolated.test.ts"],
        },
      },
      {
        ...shared,
        test: {
          name: "live",
          // After the fast ones: what is measured there shares the machine with nothing but its own kind.
          sequence: { groupOrder: 1 },
          include: ["packages/*/test/**/*.live.test.ts", "test/**/*.live.test.ts"],
          exclude: ["test/chaos/**", "**/node_modules/**"],
          globalSetup: ["test/services/jupyter.ts", "test/services/postgres.ts", "test/services/redis.ts"],
          testTimeout: 60_000,
          hookTimeout: 60_000,
          maxWorkers: 2,
        },
      },
      {
        ...shared,
        test: {
          name: "chaos",
          // Last and by itself: it takes the whole machine.
          sequence: { groupOrder: 2 },
          include: ["test/chaos/**/*.live.test.ts"],
          testTimeout: 1_800_000,
          maxWorkers: 1,
        },
      },
    ],
  },
});
