import { expect, it } from "vitest";
import { createJupyterServer } from "../src/index.js";

it.each<[object, string]>([
  [{ rootdir: "/srv" }, "createJupyterServer has no option rootdir; it has url, token, rootDir,"],
  [{ url: 8888 }, "createJupyterServer: url must be a string; got 8888"],
  [{ token: true }, "token must be a string; got true"],
  [{ rootDir: "" }, "rootDir must be a string that is not empty"],
  [{ outlive: "yes" }, "outlive must be true or false"],
  [{ tasks: {} }, "tasks must be what createTasks makes, with the methods open,"],
  [{ store: "sqlite" }, "store must be a task store"],
  [{ waitLimitMs: "50 s" }, "waitLimitMs must be a finite number of at least 0"],
  [{ interruptAfterMs: 0 }, "interruptAfterMs must be a finite number of at least 1; got 0"],
  [{ logger: () => {} }, "logger must be a logger"],
])("refuses %o", async (options, why) => {
  await expect(createJupyterServer(options)).rejects.toThrow(why);
});
