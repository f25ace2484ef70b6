import { existsSync } from "node:fs";
import { dirname } from "node:path";
import { Client } from "pg";
import { expect, onTestFinished, test } from "vitest";
import { eventually } from "../fixtures/eventually.js";
import { removeWhenGone, startPostgres } from "./postgres.js";

test("a server ends with the process that it is for, and leaves no folder", async () => {
  const server = await startPostgres();
  onTestFinished(() => server.remove());
  const client = new Client({ connectionString: server.url });
  // The connection ends with the server.
  client.on("error", () => {});
  await client.connect();
  const { rows } = await client.query("SHOW data_directory");
  const dir = dirname(rows[0].data_directory);
  const goes = removeWhenGone(dir);
  expect(existsSync(dir)).toBe(true);
  goes();
  await eventually(() => !existsSync(dir), 30_000);
  await expect(new Client({ connectionString: server.url }).connect()).rejects.toThrow("ECONNREFUSED");
});
