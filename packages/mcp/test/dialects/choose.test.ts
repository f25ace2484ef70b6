import { expect, it } from "vitest";
import { chooseDialect } from "../../src/dialects/choose.js";

const OURS = "io.datalayer/tasks";
const OFFICIAL = "io.modelcontextprotocol/tasks";

it.each([
  { era: "2025", declared: [], contract: "2025-11-25", inForce: "2025-11-25" },
  { era: "2025", declared: [], contract: "datalayer", inForce: OURS },
  { era: "2025", declared: [OURS], contract: "2025-11-25", inForce: OURS },
  { era: "2025", declared: [OFFICIAL], contract: "2025-11-25", inForce: "2025-11-25" },
  { era: "2026", declared: [OFFICIAL], contract: "2025-11-25", inForce: OFFICIAL },
  { era: "2026", declared: [OFFICIAL], contract: "datalayer", inForce: OFFICIAL },
  { era: "2026", declared: [OURS], contract: "2025-11-25", inForce: OURS },
  { era: "2026", declared: [OURS, OFFICIAL], contract: "2025-11-25", inForce: OURS },
  { era: "2026", declared: [], contract: "datalayer", inForce: undefined },
] as const)("on $era, declaring $declared, a server set to $contract speaks $inForce", (row) => {
  const speaker = { era: row.era, extensions: new Set<string>(row.declared), contract: row.contract };
  expect(chooseDialect(speaker)?.name).toBe(row.inForce);
});
