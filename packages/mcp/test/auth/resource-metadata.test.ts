/** RFC 9728: a client that knows nothing but the server's URL finds its way to a token. */
import { Client, ClientCredentialsProvider, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { expect, it, onTestFinished } from "vitest";
import { raw, serving } from "../http/http-client.js";
import { OPTIONAL } from "../wire/servers.js";
import { authorizationServer } from "./authorization-server.js";

const WELL_KNOWN = "/.well-known/oauth-protected-resource";

it("is served to everybody, by the resource's path, by ours and at the root", async () => {
  const issuer = await authorizationServer();
  const auth = {
    issuer: issuer.issuer,
    jwks: issuer.jwks,
    resource: "https://mcp.example/behind/proxy",
    scopes: { "tools/call": ["run"], "tasks/*": ["read", "run"] },
  };
  const { serving: served } = await serving(() => {}, { auth });
  for (const path of ["", "/behind/proxy", "/mcp"]) {
    const url = new URL(`${WELL_KNOWN}${path}`, served.url).href;
    const { status, headers, body } = await raw(url, "GET", {});
    expect([path, status, headers["content-type"]]).toEqual([path, 200, "application/json"]);
    expect(JSON.parse(body)).toEqual({
      resource: "https://mcp.example/behind/proxy",
      authorization_servers: [issuer.issuer],
      bearer_methods_supported: ["header"],
      scopes_supported: ["run", "read"],
    });
    expect((await raw(url, "POST", {})).status).toBe(405);
    expect((await raw(url, "GET", { host: "evil.example" })).status).toBe(403);
  }
  expect((await raw(new URL(`${WELL_KNOWN}/other`, served.url).href, "GET", {})).status).toBe(401);
});

it("is not served, nor pointed to, where there is no issuer to get a token from", async () => {
  const { serving: served } = await serving(() => {}, { auth: { token: "secret" } });
  const refused = await raw(new URL(WELL_KNOWN, served.url).href, "GET", {});
  expect([refused.status, refused.headers["www-authenticate"]]).toEqual([401, "Bearer"]);
});

it("leads the SDK's client from a 401 to the issuer, to a token for this server, and in", async () => {
  const issuer = await authorizationServer();
  const auth = { issuer: issuer.issuer, jwks: issuer.jwks, scopes: { "*": ["mcp"] } };
  const { serving: served } = await serving(
    (tasks, server) => tasks.registerTool(server, "whoami", OPTIONAL, (_args, ctx) => ({ is: ctx.request.principal })),
    { auth },
  );
  const authProvider = new ClientCredentialsProvider({
    clientId: "robot-client",
    clientSecret: "robot-secret",
    expectedIssuer: issuer.issuer,
  });
  const client = new Client({ name: "test", version: "0" });
  await client.connect(new StreamableHTTPClientTransport(new URL(served.url), { authProvider }));
  onTestFinished(() => client.close());
  expect(await client.callTool({ name: "whoami" })).toMatchObject({
    structuredContent: { is: { issuer: issuer.issuer, subject: "robot", clientId: "robot-client" } },
  });
  expect(issuer.tokenRequests).toHaveLength(1);
  expect(issuer.tokenRequests[0]?.get("resource")).toBe(served.url);
  expect(issuer.tokenRequests[0]?.get("scope")).toBe("mcp");
});
