/** Served by the tokens of an authorization server: who comes in, and whose the tasks are. */
import { generateKeyPairSync, sign } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, inject, onTestFinished, test } from "vitest";
import { Command } from "./command.js";

const jupyter = inject("jupyter");
const onJupyter = { JUPYTER_URL: jupyter.url, JUPYTER_TOKEN: jupyter.token };

/** Publishes a key, and makes tokens that are signed with it. */
async function authorizationServer() {
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const keys = [{ ...publicKey.export({ format: "jwk" }), kid: "k", alg: "ES256" }];
  const server = createServer((_, response) => void response.end(JSON.stringify({ keys })));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const part = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString("base64url");
  const token = (sub: string, claims: object): string => {
    const exp = Math.floor(Date.now() / 1000) + 300;
    const signed = `${part({ alg: "ES256", kid: "k" })}.${part({ iss: issuer, aud: "ours", sub, exp, ...claims })}`;
    const signature = sign("sha256", Buffer.from(signed), { key: privateKey, dsaEncoding: "ieee-p1363" });
    return `${signed}.${signature.toString("base64url")}`;
  };
  return { issuer, token };
}

test("whoever has a token of the issuer comes in, by its scopes, and finds nobody else's tasks", async () => {
  const { issuer, token } = await authorizationServer();
  const options = ["--issuer", issuer, "--jwks", `${issuer}/keys`, "--audience", "ours", "--scope", "tools/call=run"];
  const command = new Command(["jupyter", "--http", "--port", "0", "--store", "memory", ...options], onJupyter);
  const { url } = await command.served();
  expect(command.stderr).not.toContain("clients need the token");
  const as = (bearer: string) => async (method: string, params: object) => {
    const _meta = {
      "io.modelcontextprotocol/protocolVersion": "2026-07-28",
      "io.modelcontextprotocol/clientInfo": { name: "test", version: "1" },
      "io.modelcontextprotocol/clientCapabilities": { extensions: { "io.modelcontextprotocol/tasks": {} } },
    };
    const headers: Record<string, string> = {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      "mcp-protocol-version": "2026-07-28",
      "mcp-method": method,
      authorization: `Bearer ${bearer}`,
    };
    const name = (params as { name?: string; taskId?: string }).name ?? (params as { taskId?: string }).taskId;
    if (name !== undefined) headers["mcp-name"] = name;
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params: { ...params, _meta } });
    const response = await fetch(url, { method: "POST", headers, body });
    const text = await response.text();
    const json = /^data: (.*)$/m.exec(text)?.[1] ?? text;
    return { status: response.status, ...JSON.parse(json) };
  };
  const call = { name: "execute_code", arguments: { code: "import time; time.sleep(60)" } };
  const ann = as(token("ann", { scope: "run" }));
  const { result } = await ann("tools/call", call);
  expect(result).toMatchObject({ resultType: "task", status: "working" });
  const ofAnn = { taskId: result.taskId };
  expect(await ann("tasks/get", ofAnn)).toMatchObject({ result: { status: "working" } });
  expect(await as(token("bob", { scope: "run" }))("tasks/get", ofAnn)).toMatchObject({ error: { code: -32602 } });
  expect((await as(token("ann", {}))("tools/call", call)).status).toBe(403);
  expect((await as(token("ann", { aud: "another" }))("tools/call", call)).status).toBe(401);
  expect((await as("forged")("tools/call", call)).status).toBe(401);
  await ann("tasks/cancel", ofAnn);
});

test("an issuer whose keys anybody could replace stops the start, with the reason", async () => {
  const options = ["--issuer", "https://id.example", "--jwks", "http://id.example/keys"];
  const command = new Command(["jupyter", "--http", "--port", "0", "--store", "memory", ...options], onJupyter);
  expect(await command.ended).toBe(3);
  expect(command.stderr).toContain("jwks must be an https URL");
});
