import { describe, expect, test } from "vitest";
import { type Driver, type DriverSources, loadDriver } from "../src/driver.js";

const builtin = { name: "builtin" } as unknown as Driver;
const installed = { name: "installed" } as unknown as Driver;

function sources(overrides: Partial<DriverSources>): DriverSources {
  return { builtinVersion: undefined, builtin: () => builtin, installed: async () => installed, ...overrides };
}

const missing = async (): Promise<Driver> => {
  throw new Error("Cannot find package");
};

describe("the driver", () => {
  for (const builtinVersion of ["3.51.3", "3.53.0", "4.0.0"]) {
    test(`is Node's own when that is SQLite ${builtinVersion}`, async () => {
      expect(await loadDriver(sources({ builtinVersion, installed: missing }))).toBe(builtin);
    });
  }

  for (const builtinVersion of ["3.51.2", "3.47.2", undefined]) {
    test(`is the package's when Node has ${builtinVersion ?? "none"}`, async () => {
      expect(await loadDriver(sources({ builtinVersion }))).toBe(installed);
    });
  }

  test("is the package's when Node keeps its own behind a flag", async () => {
    expect(await loadDriver(sources({ builtinVersion: "3.53.0", builtin: () => undefined }))).toBe(installed);
  });

  test("is a start-up failure that names the remedies when there is none", async () => {
    await expect(loadDriver(sources({ builtinVersion: "3.47.2", installed: missing }))).rejects.toMatchObject({
      code: "store_unusable",
      message: expect.stringMatching(
        /has SQLite 3\.47\.2, .*npm install @photostructure\/sqlite@1\.2\.1.*3\.51\.3 or newer/,
      ),
      cause: expect.any(Error),
    });
  });
});
