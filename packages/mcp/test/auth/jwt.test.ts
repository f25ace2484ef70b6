/** Tokens of a real issuer, and of forgers. */
import { createHmac } from "node:crypto";
import { type CryptoKey, exportSPKI, importJWK, UnsecuredJWT } from "jose";
import { afterEach, describe, expect, it, vi } from "vitest";
import type { JwtAuth } from "../../src/index.js";
import { HttpClient, type HttpScene, serving } from "../http/http-client.js";
import { OPTIONAL } from "../wire/servers.js";
import { type AuthorizationServer, authorizationServer } from "./authorization-server.js";

const RESOURCE = "https://mcp.example/mcp";
const METADATA = "https://mcp.example/.well-known/oauth-protected-resource/mcp";

afterEach(() => vi.useRealTimers());

interface Guarded extends HttpScene {
  issuer: AuthorizationServer;
  /** A client that sends `token`. */
  as(token: string): HttpClient;
  /** How a `ping` with `token` is answered. */
  ping(token: string): Promise<Response>;
}

async function guarded(options: Partial<JwtAuth> = {}): Promise<Guarded> {
  const issuer = await authorizationServer();
  const auth: JwtAuth = { issuer: issuer.issuer, jwks: issuer.jwks, resource: RESOURCE, ...options };
  const scene = await serving((tasks, server) => tasks.registerTool(server, "dig", OPTIONAL, () => "dug"), { auth });
  const as = (token: string) => new HttpClient(scene.serving.url, { authorization: `Bearer ${token}` });
  return { ...scene, issuer, as, ping: (token) => as(token).post("ping", {}) };
}

const part = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString("base64url");
const now = (): number => Math.floor(Date.now() / 1000);

describe("a token of the issuer", () => {
  it("lets its subject in", async () => {
    const { issuer, ping } = await guarded();
    expect((await ping(await issuer.sign())).status).toBe(200);
  });

  it.each(["ES256", "RS256", "PS256", "EdDSA"])("is accepted when signed with %s", async (algorithm) => {
    const { issuer, ping } = await guarded();
    const key = await issuer.addKey(algorithm);
    expect((await ping(await issuer.sign({}, { key }))).status).toBe(200);
  });

  it("is verified with keys that were given, without asking anybody", async () => {
    const issuer = await authorizationServer();
    const auth = { issuer: issuer.issuer, jwks: issuer.keySet, resource: RESOURCE };
    const { serving: served } = await serving(() => {}, { auth });
    const client = new HttpClient(served.url, { authorization: `Bearer ${await issuer.sign()}` });
    expect((await client.post("ping", {})).status).toBe(200);
    expect(issuer.keyFetches).toBe(0);
  });

  it.each([[RESOURCE], [`${RESOURCE}/`], [["https://other.example", RESOURCE]]])(
    "for %j is one for us",
    async (aud) => {
      const { issuer, ping } = await guarded();
      expect((await ping(await issuer.sign({ aud }))).status).toBe(200);
    },
  );

  it("has to be for the audience that was set", async () => {
    const { issuer, ping } = await guarded({ audience: ["api://one", "api://two"] });
    expect((await ping(await issuer.sign({ aud: "api://two" }))).status).toBe(200);
    expect((await ping(await issuer.sign({ aud: RESOURCE }))).status).toBe(401);
  });

  it("may be late by the tolerance and no more", async () => {
    const { issuer, ping } = await guarded({ clockToleranceMs: 10_000 });
    expect((await ping(await issuer.sign({}, { expiresInS: -5 }))).status).toBe(200);
    expect((await ping(await issuer.sign({}, { expiresInS: -15 }))).status).toBe(401);
  });
});

describe("refused with 401 and the way to a token:", () => {
  const forgeries: Record<string, (issuer: AuthorizationServer) => Promise<string>> = {
    "an expired token": (issuer) => issuer.sign({}, { expiresInS: -60 }),
    "one that is not valid yet": (issuer) => issuer.sign({ nbf: now() + 3600 }),
    "one for another audience": (issuer) => issuer.sign({ aud: "https://other.example/mcp" }),
    "one for nobody in particular": (issuer) => issuer.sign({ aud: undefined }),
    "one of another issuer": (issuer) => issuer.sign({ iss: "https://evil.example" }),
    "one whose issuer only begins like ours": (issuer) => issuer.sign({ iss: `${issuer.issuer}/` }),
    "one that never expires": (issuer) => issuer.sign({ exp: undefined }),
    "one without a subject": (issuer) => issuer.sign({ sub: undefined }),
    "one with an empty subject": (issuer) => issuer.sign({ sub: "" }),
    "one signed with an unknown key": async (issuer) => issuer.sign({}, { key: await issuer.unpublishedKey() }),
    "one signed with another key under a known name": async (issuer) => {
      const key = await issuer.unpublishedKey();
      return issuer.sign({}, { key: { ...key, kid: "key-1" } });
    },
    "an unsigned one (alg none)": async (issuer) =>
      new UnsecuredJWT({ sub: "ann" }).setIssuer(issuer.issuer).setAudience(RESOURCE).setExpirationTime("5m").encode(),
    "one with its signature removed": async (issuer) => (await issuer.sign()).replace(/\.[^.]*$/, "."),
    "one whose claims were changed": async (issuer) => {
      const [header, , signature] = (await issuer.sign()).split(".");
      const claims = { iss: issuer.issuer, aud: RESOURCE, sub: "root", exp: now() + 300 };
      return `${header}.${part(claims)}.${signature}`;
    },
    "one that takes the public key for a shared secret (HS256)": async (issuer) => {
      const key = await importJWK(issuer.keySet.keys[0] ?? {}, "ES256", { extractable: true });
      const pem = await exportSPKI(key as CryptoKey);
      const claims = { iss: issuer.issuer, aud: RESOURCE, sub: "ann", exp: now() + 300 };
      const signed = `${part({ alg: "HS256", kid: "key-1" })}.${part(claims)}`;
      return `${signed}.${createHmac("sha256", pem).update(signed).digest("base64url")}`;
    },
    "what is no token": async () => "not.a.token",
    "an empty one": async () => "..",
  };

  it.each(Object.keys(forgeries))("%s", async (what) => {
    const { issuer, ping, errors } = await guarded();
    const refused = await ping((await forgeries[what]?.(issuer)) ?? "");
    expect(refused.status).toBe(401);
    const challenge = refused.headers.get("www-authenticate");
    expect(challenge).toMatch(/^Bearer error="invalid_token", error_description="The bearer token [a-z ]+\."/);
    expect(challenge).toContain(`resource_metadata="${METADATA}"`);
    expect(errors).toEqual([]);
  });

  it("a request without a token, which is told of no error (RFC 6750, 3.1)", async () => {
    const { serving: served } = await guarded({ scopes: { "*": ["mcp"] } });
    const refused = await new HttpClient(served.url).post("ping", {});
    expect(refused.status).toBe(401);
    expect(refused.headers.get("www-authenticate")).toBe(`Bearer scope="mcp", resource_metadata="${METADATA}"`);
  });
});

describe("the issuer's keys", () => {
  it("are fetched once for many tokens", async () => {
    const { issuer, ping } = await guarded();
    const tokens = await Promise.all(Array.from({ length: 20 }, () => issuer.sign()));
    await Promise.all(tokens.map(ping));
    expect(issuer.keyFetches).toBe(1);
  });

  it("that are rotated are taken up by themselves, and the old ones no more", async () => {
    const { issuer, ping } = await guarded();
    const old = await issuer.sign({}, { expiresInS: 3600 });
    expect((await ping(old)).status).toBe(200);
    await issuer.rotate();
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 31_000 });
    expect((await ping(await issuer.sign())).status).toBe(200);
    expect((await ping(old)).status).toBe(401);
    expect(issuer.keyFetches).toBe(2);
  });

  it("are not fetched anew for every token of an unknown key", async () => {
    const { issuer, ping } = await guarded();
    await ping(await issuer.sign());
    const key = await issuer.unpublishedKey();
    for (let i = 0; i < 10; i += 1) expect((await ping(await issuer.sign({}, { key }))).status).toBe(401);
    expect(issuer.keyFetches).toBe(1);
  });

  it("are all tried for a token that names none", async () => {
    const { issuer, ping } = await guarded();
    const older = await issuer.addKey();
    await issuer.addKey();
    expect((await ping(await issuer.sign({}, { key: older, header: { kid: undefined } }))).status).toBe(200);
    const key = await issuer.unpublishedKey();
    expect((await ping(await issuer.sign({}, { key, header: { kid: undefined } }))).status).toBe(401);
  });

  it("that cannot be had let nobody in, which is no fault of the token's", async () => {
    const { issuer, ping, errors } = await guarded();
    issuer.keysStatus = 500;
    const refused = await ping(await issuer.sign());
    expect(refused.status).toBe(503);
    expect(await refused.text()).not.toContain(issuer.issuer);
    expect(errors.map(({ message }) => message)).toEqual(["The keys of the token issuer could not be had."]);
    issuer.keysStatus = 200;
    expect((await ping(await issuer.sign())).status).toBe(200);
  });
});

describe("whose the tasks are", () => {
  const KEY = { _meta: { "io.datalayer/idempotency-key": "k" } };

  it("a refreshed token keeps its tasks and their keys, in its session and in a new one", async () => {
    const { issuer, as } = await guarded();
    const first = as(await issuer.sign({ scope: "a", auth_time: 1 }));
    await first.initialize();
    const { taskId } = await first.callTask("dig", KEY);
    first.headers.authorization = `Bearer ${await issuer.sign({ scope: "b", auth_time: 2 })}`;
    expect((await first.request("tasks/get", { taskId })).result).toMatchObject({ taskId });
    await first.delete();
    const second = as(await issuer.sign());
    await second.initialize();
    expect((await second.request("tasks/list")).result?.tasks).toMatchObject([{ taskId }]);
    expect((await second.callTask("dig", KEY)).taskId).toBe(taskId);
  });

  it.each([
    ["two people behind one client", { sub: "bob" }],
    ["one person with two clients", { client_id: "other-app" }],
  ])("%s are two owners", async (_who, claims) => {
    const { issuer, as } = await guarded();
    const ann = as(await issuer.sign());
    const other = as(await issuer.sign(claims));
    const { taskId } = await ann.callTask("dig", KEY);
    expect((await other.request("tasks/get", { taskId })).error?.message).toBe("No such task.");
    expect((await other.request("tasks/list")).result?.tasks).toEqual([]);
    expect((await other.callTask("dig", KEY)).taskId).not.toBe(taskId);
  });

  it("an issuer that names the client in azp has two owners for two clients as well", async () => {
    const { issuer, as } = await guarded();
    const { taskId } = await as(await issuer.sign({ client_id: undefined, azp: "one" })).callTask("dig");
    const other = as(await issuer.sign({ client_id: undefined, azp: "two" }));
    expect((await other.request("tasks/get", { taskId })).error?.message).toBe("No such task.");
  });
});

describe("options that cannot be right are refused at the start:", () => {
  const keys = { keys: [] };
  it.each([
    ["keys over plain http", { jwks: "http://id.example/keys" }, "https"],
    ["no keys", { jwks: undefined }, "jwks must be"],
    ["keys that are no URL", { jwks: "keys" }, "jwks must be a URL"],
    ["a shared secret's algorithm", { jwks: keys, algorithms: ["HS256"] }, "asymmetric"],
    ["the algorithm none", { jwks: keys, algorithms: ["none"] }, "asymmetric"],
    ["no algorithm", { jwks: keys, algorithms: [] }, "asymmetric"],
    ["a resource that is no URL", { jwks: keys, resource: "mcp.example" }, "resource must be"],
    ["a scope that no header can carry", { jwks: keys, scopes: { "*": ['a"b'] } }, "no OAuth scope"],
  ])("%s", async (_what, options, message) => {
    const auth = { issuer: "https://id.example", ...options } as JwtAuth;
    await expect(serving(() => {}, { auth })).rejects.toThrow(message);
  });
});
