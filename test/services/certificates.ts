/** Certificates by an authority of the test's own, for servers that speak TLS. */
import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

/** A certificate and its key, PEM. */
export interface Certified {
  certFile: string;
  keyFile: string;
  cert: string;
  key: string;
}

export interface Certificates {
  caFile: string;
  ca: string;
  /** For `127.0.0.1`, and for no other name. */
  server: Certified;
  client: Certified;
  /** By another authority, and for the same address. */
  stranger: Certified;
  remove(): Promise<void>;
}

const run = promisify(execFile);
const EC_KEY = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];

export async function makeCertificates(): Promise<Certificates> {
  const dir = await mkdtemp(join(tmpdir(), "claimcheck-test-certificates-"));
  await makeAuthority(dir, "ca");
  await makeAuthority(dir, "other-ca");
  const caFile = join(dir, "ca.crt");
  return {
    caFile,
    ca: await readFile(caFile, "utf8"),
    server: await certify(dir, "ca", "server", "subjectAltName=IP:127.0.0.1"),
    client: await certify(dir, "ca", "client", "extendedKeyUsage=clientAuth"),
    stranger: await certify(dir, "other-ca", "stranger", "subjectAltName=IP:127.0.0.1"),
    remove: () => rm(dir, { recursive: true, force: true }),
  };
}

async function makeAuthority(dir: string, name: string): Promise<void> {
  const [key, cert] = [join(dir, `${name}.key`), join(dir, `${name}.crt`)];
  await openssl("req", "-x509", ...EC_KEY, "-days", "2", "-subj", `/CN=${name}`, "-keyout", key, "-out", cert);
}

async function certify(dir: string, authority: string, name: string, extension: string): Promise<Certified> {
  const file = (end: string): string => join(dir, `${name}.${end}`);
  const [keyFile, certFile, request, extensions] = [file("key"), file("crt"), file("csr"), file("ext")];
  await writeFile(extensions, extension);
  await openssl("req", "-new", ...EC_KEY, "-subj", `/CN=${name}`, "-keyout", keyFile, "-out", request);
  const by = ["-CA", join(dir, `${authority}.crt`), "-CAkey", join(dir, `${authority}.key`), "-CAcreateserial"];
  await openssl("x509", "-req", "-in", request, "-days", "2", ...by, "-extfile", extensions, "-out", certFile);
  return { keyFile, certFile, cert: await readFile(certFile, "utf8"), key: await readFile(keyFile, "utf8") };
}

async function openssl(...args: string[]): Promise<void> {
  await run("openssl", args);
}
