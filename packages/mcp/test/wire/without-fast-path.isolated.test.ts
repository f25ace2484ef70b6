/** The same tests with every request dispatched by the SDK: the two ways answer alike. */
import { readdirSync } from "node:fs";
import { expect, it } from "vitest";
import { defaults } from "./servers.js";

defaults.fastPath = false;

const files = readdirSync(new URL(".", import.meta.url)).filter(
  (name) => name.endsWith(".test.ts") && !name.includes("fast-path"),
);

// Each registers its tests here.
for (const name of files) await import(/* @vite-ignore */ `./${name}`);

it("the tests of the wire are there", () => {
  expect(files).toContain("creation.test.ts");
  expect(files).toContain("extension-2026.test.ts");
});
