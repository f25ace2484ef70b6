import { randomBytes } from "node:crypto";
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { PostgresStore, type PostgresStoreOptions } from "@claimcheck/postgres";
import { Client } from "pg";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { eventually } from "../../../test/fixtures/eventually.js";
import { recordLog } from "../../../test/fixtures/log-recorder.js";
import { unusableAs } from "../../../test/fixtures/refusal.js";
import { tryOut } from "../../../test/fixtures/server-stores.js";
import { workingTask } from "../../../test/fixtures/working-task.js";
import { type Certificates, makeCertificates } from "../../../test/services/certificates.js";
import { type PostgresServer, startPostgres } from "../../../test/services/postgres.js";

let certificates: Certificates;
/** Takes TLS alone. */
let server: PostgresServer;
/** Asks for a certificate, too. */
let strict: PostgresServer;

beforeAll(async () => {
  certificates = await makeCertificates();
  server = await startPostgres([], certificates.server);
  strict = await startPostgres([], { ...certificates.server, clientCa: certificates.ca });
});
afterAll(async () => {
  await server?.remove();
  await strict?.remove();
  await certificates?.remove();
});

const fresh = (): string => `tls_${randomBytes(8).toString("hex")}`;

/** The server's URL with what it says of TLS. */
function urlOf(parameters: Record<string, string>, to: PostgresServer = server): string {
  const url = new URL(to.url);
  for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
  return url.href;
}

const use = async (options: PostgresStoreOptions) => tryOut(new PostgresStore({ schema: fresh(), ...options }));
const refusal = (options: PostgresStoreOptions) => unusableAs(use(options));

test.each(["prefer", "require", "verify-ca", "verify-full"])(
  "sslmode=%s is TLS with a server that proves who it is",
  async (sslmode) => {
    await use({ url: urlOf({ sslmode, sslrootcert: certificates.caFile }) });
    const message = await refusal({ url: urlOf({ sslmode }) });
    expect(message).toMatch(/^PostgreSQL at 127\.0\.0\.1:\d+\/postgres: (unable to verify|self-signed)/);
    expect(message).toContain("Name its CA by sslrootcert=FILE in the URL, by tls: { ca }, or by NODE_EXTRA_CA_CERTS.");
  },
);

test("every connection speaks TLS, the one that listens as well", async () => {
  const store = new PostgresStore({ url: server.url, tls: { ca: certificates.ca }, schema: fresh() });
  await store.open();
  await store.create(workingTask());
  const admin = new Client({ connectionString: server.url, ssl: { ca: certificates.ca } });
  await admin.connect();
  const { rows } = await admin.query(
    "SELECT ssl FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE application_name = 'claimcheck'",
  );
  await admin.end();
  await store.close();
  expect(rows).toEqual([{ ssl: true }, { ssl: true }]);
});

test("tls goes before what the URL says", async () => {
  await use({ url: urlOf({ sslmode: "disable" }), tls: { ca: certificates.ca } });
  expect(await refusal({ url: urlOf({ sslmode: "no-verify" }), tls: {} })).toMatch(/unable to verify|self-signed/);
});

test("sslmode=no-verify takes any certificate", () => use({ url: urlOf({ sslmode: "no-verify" }) }));

test("a server that takes TLS only is not spoken to without", async () => {
  const message = await refusal({ url: server.url });
  expect(message).toContain("The server takes TLS only; add sslmode=verify-full to the URL.");
});

test("a server without TLS is not spoken to in the clear when TLS was asked for", async () => {
  const url = new URL(inject("postgres").url);
  url.searchParams.set("sslmode", "require");
  expect(await refusal({ url: url.href })).toContain(
    "The server does not support SSL connections. Turn ssl on there, or add sslmode=disable to the URL.",
  );
});

test("a certificate for another name is refused, with what to change", async () => {
  const url = urlOf({ sslmode: "verify-full", sslrootcert: certificates.caFile }).replace("127.0.0.1", "localhost");
  const message = await refusal({ url });
  expect(message).toContain("does not match certificate's altnames");
  expect(message).toContain("Name the host in the URL as its certificate does.");
});

test("a certificate of one's own is shown, from files and from tls", async () => {
  const { ca, caFile, client } = certificates;
  const sslmode = "verify-full";
  await use({
    url: urlOf({ sslmode, sslrootcert: caFile, sslcert: client.certFile, sslkey: client.keyFile }, strict),
  });
  const tls = { ca, cert: client.cert, key: client.key };
  await use({ url: strict.url, tls });
  await use({ url: strict.url, tls });
  expect(Object.keys(tls)).toContain("key");
  const message = await refusal({ url: strict.url, tls: { ca } });
  expect(message).toContain("requires a valid client certificate");
  expect(message).toContain("Name one that the server knows by sslcert=FILE and sslkey=FILE");
});

test("a file of certificates that is not there is named", async () => {
  expect(await refusal({ url: urlOf({ sslmode: "verify-full", sslrootcert: "/no/such/ca.pem" }) })).toContain(
    "/no/such/ca.pem",
  );
});

test("an sslmode that is none is refused, with those that are", async () => {
  expect(await refusal({ url: urlOf({ sslmode: "requier" }) })).toContain(
    "unknown sslmode; it is one of prefer, require, verify-ca, verify-full, disable, no-verify.",
  );
});

test("a file of certificates that goes away while the store is open costs signals, and comes back with it", async () => {
  const file = join(certificates.caFile, "..", `${fresh()}.crt`);
  await writeFile(file, certificates.ca);
  const logger = recordLog();
  const url = urlOf({ sslmode: "verify-full", sslrootcert: file });
  const store = new PostgresStore({ url, schema: fresh(), logger });
  await store.open();
  const task = await store.create(workingTask());
  await rm(file);
  await restart(server);
  await expect(store.get(task.taskId)).rejects.toThrow("PostgreSQL at 127.0.0.1");
  await eventually(() => logger.lines.some(({ level }) => level === "warn"));
  await writeFile(file, certificates.ca);
  await eventually(() => store.health.signals === "connected", 20_000);
  expect(await store.get(task.taskId)).toEqual(task);
  await store.close();
});

async function restart(which: PostgresServer): Promise<void> {
  await which.stop("immediate");
  await which.start();
}
