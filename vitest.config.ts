import { defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";

// Packages are tested from their sources; only what spawns a process of its own needs the build.
const conditions = ["@claimcheck/source", "module", "node", "development|production"];
const shared = { resolve: { conditions }, ssr: { resolve: { conditions, externalConditions: ["node"] } } };

// Guards, which promise nothing: many times what it takes on a machine that has much else to do.
const patience = { testTimeout: 60_000, hookTimeout: 60_000, expect: { poll: { timeout: 30_000 } } };

/** What takes a minute and more, by waiting: begun last, the others' workers would wait for it. */
const LONGEST = [
  "jupyter/test/server/private-server",
  "cli/test/resume",
  "test/interop/fastmcp-client",
  "jupyter/test/tools/kernel-loss",
  "jupyter/test/tools/cancelling",
];

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rankOf = ({ moduleId }: TestSpecification): number => {
      const rank = LONGEST.findIndex((name) => moduleId.includes(name));
      return rank === -1 ? LONGEST.length : rank;
    };
    return (await super.sort(files)).toSorted((a, b) => rankOf(a) - rankOf(b));
  }
}

export default defineConfig({
  ...shared,
  test: {
    sequence: { sequencer: LongestFirst },
    projects: [
      {
        ...shared,
        test: {
          name: "fast",
          ...patience,
          sequence: { groupOrder: 0 },
          maxWorkers: 2,
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
          ...patience,
          sequence: { groupOrder: 0 },
          maxWorkers: 2,
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
          ...patience,
          // Other people's servers, kernels and sockets have races of their own. What needs the second try is named at the end
          // of a run (scripts/test-report.mjs) and is a fault to be mended; `--retry=0` looks for such.
          retry: 1,
          // Most of them wait for kernels and servers most of the time; a concurrent one has a store of its own.
          maxWorkers: 3,
          maxConcurrency: 12,
        },
      },
      {
        ...shared,
        test: {
          name: "chaos",
          // Last and by itself: some forty processes, whose leases are short.
          sequence: { groupOrder: 2 },
          include: ["test/chaos/**/*.live.test.ts"],
          // More of them would take all of two processors, and what is late for that is excused by the checker.
          maxConcurrency: 5,
          testTimeout: 1_800_000,
          hookTimeout: 60_000,
          maxWorkers: 1,
        },
      },
    ],
  },
});
