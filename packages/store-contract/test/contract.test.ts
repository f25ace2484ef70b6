import { MemoryStore, type TaskStore } from "@claimcheck/core";
import { FakeClock } from "@claimcheck/core/testing";
import { describe, expect, test } from "vitest";
import {
  allGroups,
  type Capability,
  creationCases,
  outageCases,
  runCase,
  type StoreContractOptions,
  type StoreHarness,
  storeContract,
} from "../src/index.js";

const WITHOUT: readonly Capability[] = ["signals", "reopen", "openAnother", "outage"];
const TAKEN = "A task id that is taken is a rejection and changes nothing";

/** Overwrites what has the id already. */
class Overwriting extends MemoryStore {
  override async create(...args: Parameters<TaskStore["create"]>): ReturnType<TaskStore["create"]> {
    return super.create(...args).catch(() => args[0]);
  }
}

function opener(create: (clock: FakeClock) => TaskStore, closed: () => void = () => {}): () => StoreHarness {
  return () => {
    const clock = new FakeClock();
    return { store: create(clock), now: () => clock.now(), advance: (ms) => clock.advance(ms), close: closed };
  };
}

const openMemory = opener((clock) => new MemoryStore({ clock }));
const openOverwriting = opener((clock) => new Overwriting({ clock }));

/** What the contract registers, title → run. */
function registered(options: Partial<StoreContractOptions>): Map<string, () => Promise<void>> {
  const cases = new Map<string, () => Promise<void>>();
  const register: StoreContractOptions["test"] = (title, run) => cases.set(title, run);
  storeContract({ test: register, open: openMemory, without: WITHOUT, ...options });
  return cases;
}

describe("storeContract", () => {
  test("registers every case of every group under the group's name", () => {
    const titles = allGroups.flatMap((group) => group.cases.map(({ title }) => `${group.name}: ${title}`));
    expect([...registered({ without: [] }).keys()]).toEqual(titles);
  });

  test("registers one group alone", () => {
    const titles = creationCases.cases.map(({ title }) => `creation: ${title}`);
    expect([...registered({ groups: [creationCases] }).keys()]).toEqual(titles);
  });

  test("leaves out what needs a member that the store is without", () => {
    const titles = [...registered({}).keys()].join("\n");
    expect(titles).not.toMatch(/^(signals|reopen|two handles|outage and recovery): /m);
    expect(titles).toMatch(/^retention: /m);
  });

  test("fails every case when a member is missing and not named as such", async () => {
    const run = registered({ without: ["reopen", "openAnother", "outage"] }).get(`creation: ${TAKEN}`);
    await expect(run?.()).rejects.toThrow('"signals" is missing; give it, or name it in `without`');
  });

  test("fails every case when a member that is there is said to be missing", async () => {
    const run = registered({ without: [...WITHOUT, "sweep"] }).get(`creation: ${TAKEN}`);
    await expect(run?.()).rejects.toThrow('"sweep" is there; take it out of `without`');
  });

  test("refuses an excuse for a title that no case has", () => {
    expect(() => registered({ excused: { "A task id that is taken": "it can't tell" } })).toThrow(
      'No case of the store contract has the excused title "A task id that is taken".',
    );
  });

  test("refuses an excuse for a case that is left out anyway", () => {
    const [{ title = "" } = {}] = outageCases.cases;
    const excused = { [title]: "there is none" };
    expect(() => registered({ excused })).toThrow(`"${title}" never runs \`without\` "outage"`);
    const without = WITHOUT.filter((each) => each !== "outage");
    expect(registered({ excused, without }).has(`${outageCases.name}: ${title} (excused: there is none)`)).toBe(true);
  });

  test("lets an excuse stand while other groups are run alone", () => {
    const titles = creationCases.cases.map(({ title }) => `creation: ${title}`);
    const [{ title = "" } = {}] = outageCases.cases;
    const options = { groups: [creationCases], without: [], excused: { [title]: "never back in time" } };
    expect([...registered(options).keys()]).toEqual(titles);
  });

  test("refuses an excuse without a reason", () => {
    expect(() => registered({ excused: { [TAKEN]: " " } })).toThrow("gives no reason");
  });

  test("runs an excused case under its reason, and passes while the store fails it", async () => {
    const cases = registered({ open: openOverwriting, excused: { [TAKEN]: "ids are made by the back end" } });
    await cases.get(`creation: ${TAKEN} (excused: ids are made by the back end)`)?.();
    expect(cases.has(`creation: ${TAKEN}`)).toBe(false);
  });

  test("fails an excused case that the store has come to pass", async () => {
    const run = registered({ excused: { [TAKEN]: "outdated" } }).get(`creation: ${TAKEN} (excused: outdated)`);
    await expect(run?.()).rejects.toThrow("take the excuse out");
  });

  test("closes the harness of a case that passes and of one that fails", async () => {
    let closed = 0;
    const taken = creationCases.cases.find(({ title }) => title === TAKEN);
    if (taken === undefined) throw new Error("no such case");
    const open = (Store: typeof MemoryStore) =>
      opener(
        (clock) => new Store({ clock }),
        () => {
          closed += 1;
        },
      );
    await runCase(taken, { open: open(MemoryStore), without: WITHOUT });
    await expect(runCase(taken, { open: open(Overwriting), without: WITHOUT })).rejects.toThrow();
    expect(closed).toBe(2);
  });
});
