import { beforeEach, describe, expect, it } from "vitest";
import { LIBRARY_CHECKS } from "./checks/jupyter.js";
import { runChecks } from "./run-checks.js";
import { IN_MEMORY } from "./transports.js";

runChecks(IN_MEMORY);

describe("whatever the transport", () => {
  beforeEach(() => expect.hasAssertions());
  it.each(Object.entries(LIBRARY_CHECKS))("%s", (_id, check) => check());
});
