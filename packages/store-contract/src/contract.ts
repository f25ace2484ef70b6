/**
 * Registers cases with the caller's own test runner. A difference of a back end is described by an option, or
 * excused by the exact title of a case and a reason; nothing is ever left out silently.
 */
import assert from "node:assert/strict";
import type { Capability, CaseGroup, ContractCase } from "./case.js";
import { CaseContext, type CaseSettings } from "./case-context.js";
import { allGroups } from "./cases/index.js";
import type { StoreHarness } from "./harness.js";

export interface StoreContractOptions {
  /** The runner's own function, such as `test` of vitest or of `node:test`. */
  test: (title: string, run: () => Promise<void>) => unknown;
  /** Opens a fresh store; called once for each case. */
  open: () => StoreHarness | Promise<StoreHarness>;
  /** Which groups to run. Default: all. */
  groups?: readonly CaseGroup[];
  /**
   * What the store or its harness lacks by nature: cases that need it are not registered. Checked against the
   * harness both ways, so a member that is there is never left untested. Default: nothing.
   */
  without?: readonly Capability[];
  /**
   * Exact case title → why this store can't keep that promise. An excused case still runs and has to fail: the
   * day it passes, the excuse goes. A title that no case has, or one that `without` leaves out, or an empty reason, is an
   * error; one of another group than `groups` waits for that to be run.
   */
  excused?: Readonly<Record<string, string>>;
  /**
   * How long finished tasks are kept in the cases on retention. Default: 60,000. A back end that owns its clock,
   * so that `advance` has to wait, sets a few hundred.
   */
  ttlMs?: number;
  /** How long a wake-up hint may take. Default: 2,000. */
  signalWithinMs?: number;
  /** How large a value the store has to take, as JSON. Default: 10 MiB. */
  largestValueBytes?: number;
  /** How long a call may take to reject while the back end is out, and the store to work once it is back. Default: 10,000. */
  outageWithinMs?: number;
}

/** What of the options one case needs. */
export type RunCaseOptions = Pick<
  StoreContractOptions,
  "open" | "without" | "ttlMs" | "signalWithinMs" | "largestValueBytes" | "outageWithinMs"
>;

/** Registers the cases that every task store has to pass. */
export function storeContract(options: StoreContractOptions): void {
  const groups = options.groups ?? allGroups;
  const without = options.without ?? [];
  const excused = checkedExcuses(options.excused ?? {}, without);
  for (const group of groups) {
    for (const contractCase of group.cases) {
      if (contractCase.needs.some((need) => without.includes(need))) continue;
      const run = () => runCase(contractCase, options);
      const reason = excused.get(contractCase.title);
      const title = `${group.name}: ${contractCase.title}`;
      if (reason === undefined) options.test(title, run);
      else options.test(`${title} (excused: ${reason})`, () => expectFailure(run, contractCase.title));
    }
  }
}

/** Runs one case on a fresh store. Rejects when the store breaks the promise. */
export async function runCase(contractCase: ContractCase, options: RunCaseOptions): Promise<void> {
  const harness = await options.open();
  try {
    checkCapabilities(harness, options.without ?? []);
    await contractCase.run(new CaseContext(harness, settingsOf(options)));
  } finally {
    await harness.close();
  }
}

function settingsOf(options: RunCaseOptions): CaseSettings {
  const { ttlMs = 60_000, signalWithinMs = 2_000, largestValueBytes = 10 * 2 ** 20, outageWithinMs = 10_000 } = options;
  return { ttlMs, signalWithinMs, largestValueBytes, outageWithinMs };
}

function checkCapabilities(harness: StoreHarness, without: readonly Capability[]): void {
  const present: Record<Capability, boolean> = {
    sweep: harness.store.sweep !== undefined,
    signals: harness.store.signals !== undefined,
    reopen: harness.reopen !== undefined,
    openAnother: harness.openAnother !== undefined,
    outage: harness.outage !== undefined,
  };
  for (const capability of Object.keys(present) as Capability[]) {
    const lacking = without.includes(capability);
    assert(present[capability] || lacking, `"${capability}" is missing; give it, or name it in \`without\``);
    assert(!(present[capability] && lacking), `"${capability}" is there; take it out of \`without\``);
  }
}

function checkedExcuses(
  excused: Readonly<Record<string, string>>,
  without: readonly Capability[],
): Map<string, string> {
  const cases = new Map(allGroups.flatMap((group) => group.cases.map((each) => [each.title, each])));
  for (const [title, reason] of Object.entries(excused)) {
    const contractCase = cases.get(title);
    if (contractCase === undefined) throw new Error(`No case of the store contract has the excused title "${title}".`);
    const lacking = contractCase.needs.find((need) => without.includes(need));
    if (lacking !== undefined)
      throw new Error(`The excused case "${title}" never runs \`without\` "${lacking}"; take the excuse out.`);
    if (reason.trim() === "") throw new Error(`The excuse for "${title}" gives no reason.`);
  }
  return new Map(Object.entries(excused));
}

async function expectFailure(run: () => Promise<void>, title: string): Promise<void> {
  const failed = await run().then(
    () => false,
    () => true,
  );
  assert(failed, `the store keeps this promise by now; take the excuse out: "${title}"`);
}
