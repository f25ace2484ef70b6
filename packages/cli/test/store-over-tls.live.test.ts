/** The command on databases that speak TLS: by what a URL can say, and by what Node takes from the environment. */
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { type Certificates, makeCertificates } from "../../../test/services/certificates.js";
import { freePort } from "../../../test/services/free-port.js";
import { startPostgres } from "../../../test/services/postgres.js";
import { startRedis } from "../../../test/services/redis.js";
import { Command } from "./command.js";

const jupyter = inject("jupyter");
const onJupyter = { JUPYTER_URL: jupyter.url, JUPYTER_TOKEN: jupyter.token };

let certificates: Certificates;

beforeAll(async () => {
  certificates = await makeCertificates();
});
afterAll(() => certificates?.remove());

async function lists(store: string, env: Record<string, string> = {}): Promise<void> {
  const command = new Command(["jupyter", "--store", store], { ...onJupyter, ...env });
  await command.initialize();
  expect((await command.request("tasks/list")).result).toMatchObject({ tasks: [] });
  expect(command.stderr).toBe("");
}

/** What the command says when it cannot start. */
async function refusal(store: string): Promise<string> {
  const command = new Command(["jupyter", "--store", store], onJupyter);
  expect(await command.ended).toBe(3);
  return command.stderr;
}

test("PostgreSQL", async () => {
  const { server: own, caFile } = certificates;
  const server = await startPostgres([], own);
  try {
    await lists(`${server.url}?sslmode=require&sslrootcert=${encodeURIComponent(caFile)}`);
    await lists(`${server.url}?sslmode=require`, { NODE_EXTRA_CA_CERTS: caFile });
    expect(await refusal(`${server.url}?sslmode=require`)).toContain("by NODE_EXTRA_CA_CERTS");
    expect(await refusal(server.url)).toContain("add sslmode=verify-full to the URL");
  } finally {
    await server.remove();
  }
});

test("Redis", async () => {
  const { server: own, caFile } = certificates;
  const port = await freePort();
  const files = ["--tls-cert-file", own.certFile, "--tls-key-file", own.keyFile, "--tls-ca-cert-file", caFile];
  const server = await startRedis(["--tls-port", `${port}`, "--tls-auth-clients", "no", ...files]);
  try {
    await lists(`rediss://127.0.0.1:${port}`, { NODE_EXTRA_CA_CERTS: caFile });
    expect(await refusal(`rediss://127.0.0.1:${port}`)).toContain("by NODE_EXTRA_CA_CERTS");
  } finally {
    await server.remove();
  }
});
