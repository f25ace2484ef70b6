import { describe, expect, test } from "vitest";
import { Shutdown } from "../src/shutdown.js";

/** A logger that keeps what it was told. */
function scene(graceMs: number) {
  const errors: object[] = [];
  const logger = { debug() {}, info() {}, warn() {}, error: (fields: object) => void errors.push(fields) };
  return { errors, shutdown: new Shutdown({ graceMs, logger }) };
}

describe("ending in order", () => {
  test("what was started last ends first, each after the other has ended", async () => {
    const { shutdown } = scene(1000);
    const trail: string[] = [];
    for (const name of ["store", "tasks", "port"]) {
      shutdown.add(name, async () => {
        trail.push(`${name} ends`);
        await Promise.resolve();
        trail.push(`${name} has ended`);
      });
    }
    expect(await shutdown.end()).toBe(true);
    expect(trail).toEqual(["port", "tasks", "store"].flatMap((name) => [`${name} ends`, `${name} has ended`]));
  });

  test("a step that fails is named, and the next one still ends", async () => {
    const { shutdown, errors } = scene(1000);
    let ended = false;
    shutdown.add("store", async () => {
      ended = true;
    });
    shutdown.add("tasks", () => Promise.reject(new Error("disk full")));
    expect(await shutdown.end()).toBe(false);
    expect(ended).toBe(true);
    expect(errors).toEqual([{ step: "tasks", error: "Error: disk full" }]);
  });

  test("a step that hangs is named after the grace period, and the others are still asked", async () => {
    const { shutdown, errors } = scene(20);
    let asked = false;
    shutdown.add("store", async () => {
      asked = true;
    });
    shutdown.add("tasks", () => new Promise(() => {}));
    expect(await shutdown.end()).toBe(false);
    expect(asked).toBe(true);
    expect(errors[0]).toEqual({ step: "tasks" });
  });

  test("nothing ends twice", async () => {
    const { shutdown } = scene(1000);
    let times = 0;
    shutdown.add("store", async () => void times++);
    await shutdown.end();
    await shutdown.end();
    expect(times).toBe(1);
  });

  test("the first reason is the one that is told", async () => {
    const { shutdown } = scene(1000);
    shutdown.request("SIGTERM");
    shutdown.request("SIGINT");
    expect(await shutdown.requested).toBe("SIGTERM");
  });
});
