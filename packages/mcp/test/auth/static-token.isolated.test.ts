/** The comparison of a token says nothing by how long it takes; the module of Node that compares is watched for it. */
import * as crypto from "node:crypto";
import { beforeEach, expect, it, vi } from "vitest";
import { staticTokenVerifier } from "../../src/auth/static-token.js";

vi.mock("node:crypto", { spy: true });

beforeEach(() => void vi.mocked(crypto.timingSafeEqual).mockClear());

const TOKEN = "right-token";

it.each([
  ["the token itself", TOKEN, true],
  ["nothing", "", false],
  ["its beginning", "right", false],
  ["one character more", `${TOKEN}x`, false],
  ["its last character changed", "right-tokeN", false],
  ["a long one", "x".repeat(100_000), false],
  ["characters of several bytes", "rïght-tøken", false],
])("%s is compared in constant time, whatever its length", async (_what, presented, isRight) => {
  const verified = await staticTokenVerifier(TOKEN)(presented);
  expect(verified !== null).toBe(isRight);
  const compared = vi.mocked(crypto.timingSafeEqual).mock.calls.map(([a, b]) => [a.byteLength, b.byteLength]);
  expect(compared).toEqual([[32, 32]]);
});
