/** Runs the check of every requirement over the transports given, in every dialect; what an entry excepts is left out. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type Client, DIALECTS, type DialectName } from "../protocol/client.js";
import { type Serving, serve, type TransportName } from "../protocol/serving.js";
import type { Check } from "./checks/check.js";
import { CORE_CHECKS, PROGRESS_CHECKS } from "./checks/core.js";
import { EXTENSION_CHECKS } from "./checks/extension.js";
import { JUPYTER_CHECKS, type LIBRARY_CHECKS } from "./checks/jupyter.js";
import { PYMCP_CHECKS } from "./checks/pymcp.js";
import { REQUIREMENTS, type Requirement, type RequirementId } from "./requirements.js";

/** The compiler wants one for every requirement, and none for anything else. */
export const CHECKS: Record<Exclude<RequirementId, keyof typeof LIBRARY_CHECKS>, Check> = {
  ...CORE_CHECKS,
  ...PROGRESS_CHECKS,
  ...EXTENSION_CHECKS,
  ...JUPYTER_CHECKS,
  ...PYMCP_CHECKS,
};

/** Whether the requirement holds over the transport in the dialect. */
export function applies(id: string, transport: TransportName, dialect: DialectName): boolean {
  const { dialects, except } = (REQUIREMENTS as Record<string, Requirement>)[id] as Requirement;
  return dialects.includes(dialect) && !Object.hasOwn(except, transport) && !Object.hasOwn(except, dialect);
}

export function runChecks(transports: readonly TransportName[]): void {
  // A check that expects nothing has checked nothing.
  beforeEach(() => expect.hasAssertions());
  describe.each(transports)("over %s", (transport) => {
    describe.each(DIALECTS)("in %s", (dialect) => {
      let serving: Serving;
      let client: Client;
      beforeAll(async () => {
        serving = await serve(transport, dialect);
        client = await serving.connect();
      });
      afterAll(() => serving.close());

      const checks = Object.entries(CHECKS).filter(([id]) => applies(id, transport, dialect));
      it.each(checks)("%s", (_id, check) => check({ serving, client }));
    });
  });
}
