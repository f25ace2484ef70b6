/** The same tests with every request dispatched by the SDK: the two ways answer alike. */
import { readdirSync } from "node:fs";
import { expect, it } from "vitest";
import { defaults } from "./servers.js";

defaults.fastPath = false;

// Each registers its tests here.
await import("./binding.test.js");
await import("./both-paths.test.js");
await import("./cancel.test.js");
await import("./capabilities.test.js");
await import("./creation.test.js");
await import("./idempotency.test.js");
await import("./limits.test.js");
await import("./ownership.test.js");
await import("./questions-2025.test.js");
await import("./result.test.js");
await import("./retention.test.js");
await import("./side-channel.test.js");

it("no test file of the 2025-era wire is left out", () => {
  const files = readdirSync(new URL(".", import.meta.url)).filter(
    (name) => name.endsWith(".test.ts") && !name.endsWith(".isolated.test.ts"),
  );
  const era2026 = ["extension-2026.test.ts", "inline-window.test.ts"];
  const others = files.filter((name) => !era2026.includes(name) && !name.includes("fast-path"));
  expect(others.sort()).toEqual([
    "binding.test.ts",
    "both-paths.test.ts",
    "cancel.test.ts",
    "capabilities.test.ts",
    "creation.test.ts",
    "idempotency.test.ts",
    "limits.test.ts",
    "ownership.test.ts",
    "questions-2025.test.ts",
    "result.test.ts",
    "retention.test.ts",
    "side-channel.test.ts",
  ]);
});
