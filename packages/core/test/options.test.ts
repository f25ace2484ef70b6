import { expect, it } from "vitest";
import {
  checkOptions,
  durationFrom,
  having,
  InProcessRunner,
  listOfText,
  MemoryStore,
  numberFrom,
  type OptionRules,
  oneOf,
  someText,
  TaskRuntime,
  trueOrFalse,
  wholeNumberFrom,
} from "../src/index.js";

interface Oven {
  heat?: number;
  shelves?: number;
  bakeMs?: number;
  mode?: "fan" | "grill";
  light?: boolean;
  label?: string;
  dishes?: string[];
  door?: { open(): void };
}

const OVEN: OptionRules<Oven> = {
  heat: numberFrom(50),
  shelves: wholeNumberFrom(1, 4),
  bakeMs: durationFrom(0),
  mode: oneOf("fan", "grill"),
  light: trueOrFalse,
  label: someText,
  dishes: listOfText,
  door: having("a door", "open"),
};

const bake = (options: unknown): void => checkOptions("bake", options, OVEN);

it("takes what the rules allow, and undefined for what was left out", () => {
  bake({});
  bake({
    heat: Number.POSITIVE_INFINITY,
    shelves: 4,
    bakeMs: 0.5,
    mode: "grill",
    light: false,
    label: "x",
    dishes: [],
  });
  bake({ door: { open: () => {} } });
  bake({ heat: undefined, door: undefined });
});

it.each<[object, string]>([
  [{ heatt: 200 }, "bake has no option heatt; it has heat, shelves, bakeMs, mode, light, label, dishes, door."],
  [{ toString: 1 }, "bake has no option toString"],
  [{ heat: "200" }, 'bake: heat must be a number of at least 50; got "200".'],
  [{ heat: Number.NaN }, "got NaN"],
  [{ shelves: 5 }, "bake: shelves must be a whole number from 1 to 4; got 5."],
  [{ bakeMs: Number.POSITIVE_INFINITY }, "bake: bakeMs must be a finite number of at least 0; got Infinity."],
  [{ mode: "steam" }, 'bake: mode must be "fan" or "grill"; got "steam".'],
  [{ light: "yes" }, "bake: light must be true or false"],
  [{ label: "" }, "bake: label must be a string that is not empty"],
  [{ dishes: "pie" }, 'bake: dishes must be a list of strings; got "pie".'],
  [{ dishes: [1] }, "got a list"],
  [{ door: null }, "bake: door must be a door, with the methods open; got null."],
  [{ door: {} }, "got an object"],
])("%o is refused, with what would be right", (options, why) => {
  expect(() => bake(options)).toThrow(why);
});

it.each([null, "hot", 3, undefined])("%o is no options at all", (options) => {
  expect(() => bake(options)).toThrow("bake takes an object of options");
});

it("shows no address, which may have a password in it", () => {
  const address = "postgres://user:secret@db/tasks";
  expect(() => new TaskRuntime({ store: address as never })).toThrow(/store must be a task store, .* got a string\.$/);
});

it.each<[string, () => unknown, string]>([
  ["a runtime", () => new TaskRuntime({ leaseMS: 10 } as never), "TaskRuntime has no option leaseMS"],
  ["a runtime's limits", () => new TaskRuntime({ limits: { task: 1 } as never }), "limits has no option task;"],
  ["a lease of no time", () => new TaskRuntime({ leaseMs: 0 }), "leaseMs must be a finite number of at least 1"],
  ["a runner", () => new InProcessRunner({ concurrency: 0 }), "InProcessRunner: concurrency must be a whole number"],
  ["a store", () => new MemoryStore({ clock: 0 } as never), "MemoryStore: clock must be a clock"],
])("%s says what is wrong with its options", (_what, make, why) => {
  expect(make).toThrow(why);
});
