/** A port that cannot be had; guard.test.ts has the one that is taken. */
import { expect, it } from "vitest";
import { createTasks, serveHttp } from "../../src/index.js";
import { silent } from "../wire/servers.js";

it("on an address of somebody else is an error that names the address", async () => {
  const tasks = createTasks({ logger: silent });
  try {
    // Of the range that is kept for documentation (RFC 5737).
    const refused = serveHttp(tasks, () => undefined as never, { host: "192.0.2.1", auth: "none" });
    await expect(refused).rejects.toThrow("serveHttp cannot listen: this machine has no address 192.0.2.1");
  } finally {
    await tasks.close();
  }
});
