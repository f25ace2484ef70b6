/** docs/limits.md names every limit with the default that it has. */
import { readFileSync } from "node:fs";
import { DEFAULT_LIMITS, DEFAULT_SIZE_LIMITS, MAX_IDEMPOTENCY_KEY_LENGTH, MAX_TTL_MS } from "@claimcheck/core";
import { expect, it } from "vitest";

const text = readFileSync(new URL("../../docs/limits.md", import.meta.url), "utf8");
const rows = text
  .split("\n")
  .filter((line) => line.startsWith("| "))
  .map((line) => line.split("|").map((cell) => cell.trim()));

/** What the table says of the limit that is set with `name`. */
function documented(name: string): string | undefined {
  return rows.find((cells) => cells[2] === `\`${name}\``)?.[3];
}

it.each(Object.entries(DEFAULT_LIMITS))("limits.%s is %d", (name, limit) => {
  expect(documented(`limits.${name}`)).toBe(limit.toLocaleString("en"));
});

it.each(Object.entries(DEFAULT_SIZE_LIMITS))("%s is %d", (name, bytes) => {
  const said = bytes < 1024 * 1024 ? `${bytes / 1024} KiB` : `${bytes / (1024 * 1024)} MiB`;
  expect(documented(name)).toBe(said);
});

it("names no limit that is not there", () => {
  const named = rows.map((cells) => /^`limits\.(\w+)`$/.exec(cells[2] ?? "")?.[1]).filter((name) => name !== undefined);
  expect(named.sort()).toEqual(Object.keys(DEFAULT_LIMITS).sort());
});

it("says how long a key may be and how long a task is kept", () => {
  expect(documented("maxTtlMs")).toBe(`${MAX_TTL_MS / 3_600_000} h`);
  expect(rows.find((cells) => cells[1]?.startsWith("idempotency key"))?.[3]).toBe(String(MAX_IDEMPOTENCY_KEY_LENGTH));
});
