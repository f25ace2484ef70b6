import { expect, test, vi } from "vitest";
import { EXIT } from "../src/exit-codes.js";
import { type Host, processHost } from "../src/host.js";
import { main } from "../src/main.js";
import { stateDir } from "../src/state-dir.js";
import { testHost } from "./test-host.js";

// The user of these tests has an entry, and so a home folder whatever HOME says.
vi.mock("node:os", async (original) => ({
  ...(await original<typeof import("node:os")>()),
  homedir: () => {
    throw new Error("A system error occurred: uv_os_homedir returned ENOENT (no such file or directory)");
  },
}));

function homeless(): Pick<Host, "homeDir"> {
  const real = processHost();
  return {
    get homeDir() {
      return real.homeDir;
    },
  };
}

test("a user without a home folder is told what to set", async () => {
  const host = Object.defineProperties(testHost(), Object.getOwnPropertyDescriptors(homeless()));
  expect(await main(["jupyter"], host)).toBe(EXIT.cannotStart);
  expect(host.written("stderr")).toBe(
    "claimcheck: this user has no home folder: set HOME, or XDG_STATE_HOME to a folder for what is kept\n",
  );
});

test("nobody needs a home folder for help, or where XDG_STATE_HOME names the folder", async () => {
  const host = Object.defineProperties(testHost(), Object.getOwnPropertyDescriptors(homeless()));
  expect(await main(["jupyter", "--help"], host)).toBe(EXIT.ok);
  host.env = { XDG_STATE_HOME: "/srv/state" };
  expect(stateDir(host)).toBe("/srv/state/claimcheck");
});
