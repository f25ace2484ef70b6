/** Tokens are looked for in everything that is logged and answered, whatever is wrong with them. */
import { describeError } from "@claimcheck/core";
import { expect, it } from "vitest";
import { recordLog } from "../../../../test/fixtures/log-recorder.js";
import { HttpClient, serving } from "../http/http-client.js";
import { OPTIONAL } from "../wire/servers.js";
import { authorizationServer } from "./authorization-server.js";

const RESOURCE = "https://mcp.example/mcp";

it("no log, no error and no answer says a token or what it claims", async () => {
  const issuer = await authorizationServer();
  const logger = recordLog();
  const { serving: served, errors } = await serving(
    (tasks, server) =>
      tasks.registerTool(server, "dig", OPTIONAL, (_args, ctx) => {
        ctx.task?.recordOutput([JSON.stringify(ctx.request.headers ?? {})]);
        throw new Error("no");
      }),
    { auth: { issuer: issuer.issuer, jwks: issuer.jwks, resource: RESOURCE, scopes: { "tasks/list": ["listing"] } } },
    { logger },
  );
  const claims = { email: "planted@claims.example" };
  const tokens = [
    await issuer.sign(claims),
    await issuer.sign(claims, { expiresInS: -600 }),
    await issuer.sign({ ...claims, aud: "https://other.example" }),
    await issuer.sign({ ...claims, sub: undefined }),
    await issuer.sign(claims, { key: await issuer.unpublishedKey() }),
    "cGxhbnRlZC1oZWFkZXI.cGxhbnRlZC1jbGFpbXM.cGxhbnRlZC1zaWduYXR1cmU",
    "planted-token-that-is-none",
  ];
  const answers: string[] = [];
  const statuses = new Set<number>();
  const ask = async (token: string): Promise<void> => {
    const client = new HttpClient(served.url, { authorization: `Bearer ${token}`, "x-other": token });
    for (const [method, params] of Object.entries({
      "tools/call": { name: "dig", arguments: {}, task: {} },
      "tasks/list": {},
      "tasks/get": { taskId: token },
      [token]: {},
    })) {
      const response = await client.post(method, params);
      statuses.add(response.status);
      answers.push(JSON.stringify([...response.headers]));
      // What was asked for under a foreign name may be said back to who asked.
      if (method !== token) answers.push(await response.text());
    }
  };
  for (const token of tokens) await ask(token);
  issuer.keysStatus = 500;
  await issuer.rotate();
  await ask(await issuer.sign(claims));
  expect([...statuses]).toEqual(expect.arrayContaining([200, 401, 403]));
  const said = [...answers, ...logger.lines.map((line) => JSON.stringify(line)), ...errors.map(describeError)].join(
    "\n",
  );
  expect(said.length).toBeGreaterThan(1000);
  for (const token of tokens) expect(said).not.toContain(token.split(".").at(-1));
  expect(said).not.toContain("planted@claims.example");
});
