import { describe, expect, it } from "vitest";
import { defaultPrincipalOf, identify, principalKey } from "../src/owner.js";

const authInfo = (clientId: string, extra?: Record<string, unknown>) => ({
  token: Math.random().toString(),
  clientId,
  scopes: [],
  ...(extra !== undefined && { extra }),
});
const rules = (ownership: "session" | "principal" | "single-user") => ({ ownership, principalOf: defaultPrincipalOf });
const owner = (...args: Parameters<typeof identify>) => identify(...args)?.owner;

describe("without authentication", () => {
  it("tasks belong to the session", () => {
    const a = owner({ sessionId: "a" }, rules("session"));
    expect(owner({ sessionId: "a" }, rules("session"))).toBe(a);
    expect(owner({ sessionId: "b" }, rules("session"))).not.toBe(a);
  });

  it("a request that has no session has no identity", () => {
    expect(identify({}, rules("session"))).toBeNull();
  });

  it("a server that wants a principal has none", () => {
    expect(identify({ sessionId: "a" }, rules("principal"))).toBeNull();
  });

  it("a server for one person has one owner for every connection", () => {
    const one = owner({}, rules("single-user"));
    expect(one).toBeDefined();
    expect(owner({ sessionId: "a" }, rules("single-user"))).toBe(one);
    expect(owner({ authInfo: authInfo("c") }, rules("single-user"))).toBe(one);
  });
});

describe("with authentication", () => {
  it.each(["session", "principal"] as const)(
    "in %s ownership tasks belong to the principal, across sessions and tokens",
    (ownership) => {
      const claims = (jti: string) => ({ iss: "https://id", sub: "ann", jti, exp: Math.random() });
      const a = owner({ authInfo: authInfo("c", claims("1")), sessionId: "s1" }, rules(ownership));
      expect(owner({ authInfo: authInfo("c", claims("2")), sessionId: "s2" }, rules(ownership))).toBe(a);
    },
  );

  it.each([
    [{ iss: "https://id", sub: "bob" }, "c"],
    [{ iss: "https://other", sub: "ann" }, "c"],
    [{ iss: "https://id", sub: "ann" }, "d"],
    [{ sub: "ann" }, "c"],
    [undefined, "c"],
  ])("%j of client %s is somebody else", (extra, clientId) => {
    const ann = owner({ authInfo: authInfo("c", { iss: "https://id", sub: "ann" }) }, rules("session"));
    expect(owner({ authInfo: authInfo(clientId, extra) }, rules("session"))).not.toBe(ann);
  });

  it("a token that proves nothing is refused, not taken for its session", () => {
    expect(identify({ authInfo: authInfo(""), sessionId: "a" }, rules("session"))).toBeNull();
    expect(identify({ authInfo: authInfo("", { sub: 5 }), sessionId: "a" }, rules("session"))).toBeNull();
  });

  it("no part of the token is in the key", () => {
    const info = authInfo("c", { sub: "ann" });
    expect(owner({ authInfo: info }, rules("session"))).not.toContain(info.token);
  });

  it("inherited members are no claims", () => {
    expect(defaultPrincipalOf(authInfo("c", Object.create({ sub: "ann" })))).toEqual({ clientId: "c" });
  });
});

it("no two identities meet in one key, whatever separators their parts hold", () => {
  const parts = ["a", "b", "a:b", '","', "null", "\0", "\n", "{a}", "a|b", "", undefined];
  const keys = new Set<string>();
  for (const issuer of parts) {
    for (const subject of parts) {
      const given = { ...(issuer !== undefined && { issuer }), ...(subject !== undefined && { subject }) };
      keys.add(principalKey(given));
    }
  }
  expect(keys.size).toBe(parts.length ** 2);
  expect(keys).not.toContain(owner({ sessionId: "a" }, rules("session")));
});
