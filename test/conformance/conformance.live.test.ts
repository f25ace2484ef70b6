import type { HttpServing } from "@claimcheck/mcp";
import { afterAll, beforeAll, expect, it } from "vitest";
import { startFixtureServer } from "./fixture-server.js";
import { ensureSuite, failuresOf, runScenario, SCENARIOS, SKIPPED_BY_THE_SUITE } from "./suite.js";

const INSTALL_TIMEOUT_MS = 300_000;
const TIMEOUT_MS = 120_000;

let server: HttpServing;

beforeAll(async () => {
  await ensureSuite();
  server = await startFixtureServer();
}, INSTALL_TIMEOUT_MS);

afterAll(() => server.close());

it.each(SCENARIOS)(
  "the official suite's scenario %s passes, every check of it",
  async (scenario) => {
    expect(failuresOf(await runScenario(server.url, scenario))).toEqual([]);
  },
  TIMEOUT_MS,
);

it("a check that fails, warns, or is skipped for no known reason counts, and so does a scenario without checks", () => {
  expect(failuresOf([])).toHaveLength(1);
  for (const status of ["FAILURE", "WARNING", "SKIPPED"] as const) {
    expect(failuresOf([{ id: "some-check", status, errorMessage: "why" }])).toEqual([`some-check: ${status} (why)`]);
  }
  const [known = ""] = Object.keys(SKIPPED_BY_THE_SUITE);
  expect(failuresOf([{ id: known, status: "SKIPPED" }])).toEqual([]);
  expect(failuresOf([{ id: known, status: "FAILURE" }])).toHaveLength(1);
});
