import { randomBytes } from "node:crypto";
import { RedisStore, type RedisStoreOptions } from "@claimcheck/redis";
import { afterAll, beforeAll, expect, test } from "vitest";
import { eventually } from "../../../test/fixtures/eventually.js";
import { recordLog } from "../../../test/fixtures/log-recorder.js";
import { unusableAs } from "../../../test/fixtures/refusal.js";
import { tryOut } from "../../../test/fixtures/server-stores.js";
import { workingTask } from "../../../test/fixtures/working-task.js";
import { type Certificates, makeCertificates } from "../../../test/services/certificates.js";
import { freePort } from "../../../test/services/free-port.js";
import { type RedisServer, startRedis } from "../../../test/services/redis.js";
import { killConnections } from "./admin.js";

let certificates: Certificates;
let server: RedisServer;
let tlsPort: number;
/** Where a certificate is asked for, too. */
let strict: RedisServer;
let strictPort: number;

beforeAll(async () => {
  certificates = await makeCertificates();
  [server, tlsPort] = await startWithTls("no");
  [strict, strictPort] = await startWithTls("yes");
});
afterAll(async () => {
  await server?.remove();
  await strict?.remove();
  await certificates?.remove();
});

async function startWithTls(authClients: "yes" | "no"): Promise<[server: RedisServer, tlsPort: number]> {
  const port = await freePort();
  const { server: own, caFile } = certificates;
  const files = ["--tls-cert-file", own.certFile, "--tls-key-file", own.keyFile, "--tls-ca-cert-file", caFile];
  return [await startRedis(["--tls-port", `${port}`, "--tls-auth-clients", authClients, ...files]), port];
}

const fresh = (): string => `tls_${randomBytes(8).toString("hex")}`;

const use = async (options: RedisStoreOptions) => tryOut(new RedisStore({ prefix: fresh(), ...options }));
const refusal = (options: RedisStoreOptions) => unusableAs(use(options));

test.each(["rediss", "valkeys", "REDISS", "Valkeys"])(
  "%s:// is TLS, with a server that proves who it is",
  async (scheme) => {
    const url = `${scheme}://127.0.0.1:${tlsPort}`;
    await use({ url, tls: { ca: certificates.ca } });
    const message = await refusal({ url });
    expect(message).toMatch(/^Redis at 127\.0\.0\.1:\d+ over TLS: (unable to verify|self-signed)/);
    expect(message).toContain("Name its CA by tls: { ca }, or by NODE_EXTRA_CA_CERTS.");
  },
);

test("tls goes before a URL that says nothing of it", () =>
  use({ url: `redis://127.0.0.1:${tlsPort}`, tls: { ca: certificates.ca } }));

test("a certificate that is not to be checked is not", () =>
  use({ url: `rediss://127.0.0.1:${tlsPort}`, tls: { rejectUnauthorized: false } }));

test("a certificate for another name is refused, with what to change", async () => {
  const message = await refusal({ url: `rediss://localhost:${tlsPort}`, tls: { ca: certificates.ca } });
  expect(message).toContain("does not match certificate's altnames");
  expect(message).toContain("Name the host in the URL as its certificate does.");
});

test("a certificate of one's own is shown", async () => {
  const { ca, client } = certificates;
  const url = `rediss://127.0.0.1:${strictPort}`;
  await use({ url, tls: { ca, cert: client.cert, key: client.key } });
  const message = await refusal({ url, tls: { ca } });
  expect(message).toMatch(/^Redis at 127\.0\.0\.1:\d+ over TLS: /);
  expect(message).toContain("If the server asks for a client certificate, name one by tls: { cert, key }.");
});

test("a port without TLS is a refusal that says what was spoken, and so is one with nothing else", async () => {
  const [plain, tls] = [`127.0.0.1:${server.port}`, `127.0.0.1:${tlsPort}`];
  expect(await refusal({ url: `rediss://${plain}`, connectTimeoutMs: 1000 })).toContain(`Redis at ${plain} over TLS: `);
  expect(await refusal({ url: `redis://${tls}`, connectTimeoutMs: 1000 })).toContain(`Redis at ${tls}: `);
});

test("connections that break are made anew, with TLS", async () => {
  const logger = recordLog();
  const url = `rediss://127.0.0.1:${tlsPort}`;
  const store = new RedisStore({ url, tls: { ca: certificates.ca }, prefix: fresh(), logger });
  await store.open();
  const task = await store.create(workingTask());
  await killConnections(server.url);
  expect(await store.get(task.taskId)).toEqual(task);
  await eventually(() => store.health.signals === "connected" && store.health.state === "ok");
  await store.close();
});
