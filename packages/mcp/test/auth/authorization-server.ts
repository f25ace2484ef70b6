/** A small authorization server on loopback: real keys, real signatures, and every mistake that an issuer or a forger makes. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { type CryptoKey, exportJWK, generateKeyPair, type JWK, SignJWT } from "jose";
import { onTestFinished } from "vitest";

interface SigningKey {
  kid: string;
  algorithm: string;
  privateKey: CryptoKey;
  publicJwk: JWK;
}

/** What a token says beside what it says by default; `undefined` leaves a claim out. */
export type Claims = Record<string, unknown>;

export interface SignOptions {
  /** Default: the newest key. */
  key?: SigningKey;
  /** Default: the key's own. */
  header?: Record<string, unknown>;
  /** Seconds from now. Default: 300. */
  expiresInS?: number;
}

export class AuthorizationServer {
  readonly issuer: string;
  /** What tokens are for unless they say otherwise. */
  audience = "https://mcp.example/mcp";
  /** Status with which the keys are answered. */
  keysStatus = 200;
  keyFetches = 0;
  /** Bodies of the requests for tokens. */
  readonly tokenRequests: URLSearchParams[] = [];
  #published: SigningKey[] = [];
  #made = 0;

  constructor(issuer: string) {
    this.issuer = issuer;
  }

  get jwks(): string {
    return `${this.issuer}/keys`;
  }

  get keySet(): { keys: JWK[] } {
    return { keys: this.#published.map(({ publicJwk }) => publicJwk) };
  }

  /** Makes a key, and publishes it beside the others. */
  async addKey(algorithm = "ES256"): Promise<SigningKey> {
    const key = await this.unpublishedKey(algorithm);
    this.#published.push(key);
    return key;
  }

  async unpublishedKey(algorithm = "ES256"): Promise<SigningKey> {
    const kid = `key-${++this.#made}`;
    const { privateKey, publicKey } = await generateKeyPair(algorithm, { extractable: true });
    return { kid, algorithm, privateKey, publicJwk: { ...(await exportJWK(publicKey)), kid, alg: algorithm } };
  }

  /** Publishes a new key in place of all others. */
  async rotate(): Promise<SigningKey> {
    this.#published = [];
    return this.addKey();
  }

  async sign(claims: Claims = {}, options: SignOptions = {}): Promise<string> {
    const key = options.key ?? (this.#published.at(-1) as SigningKey);
    const now = Math.floor(Date.now() / 1000);
    const { issuer, audience } = this;
    const defaults = {
      iss: issuer,
      aud: audience,
      sub: "ann",
      client_id: "app",
      exp: now + (options.expiresInS ?? 300),
    };
    const payload = JSON.parse(JSON.stringify({ ...defaults, iat: now, jti: crypto.randomUUID(), ...claims }));
    const header = JSON.parse(JSON.stringify({ alg: key.algorithm, kid: key.kid, typ: "at+jwt", ...options.header }));
    return new SignJWT(payload).setProtectedHeader(header).sign(key.privateKey);
  }

  async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.url === "/keys") {
      this.keyFetches += 1;
      return answer(response, this.keysStatus, this.keySet);
    }
    if (request.url === "/.well-known/oauth-authorization-server") return answer(response, 200, this.#metadata());
    if (request.url === "/token" && request.method === "POST") return answer(response, 200, await this.#token(request));
    answer(response, 404, {});
  }

  #metadata(): object {
    return {
      issuer: this.issuer,
      authorization_endpoint: `${this.issuer}/authorize`,
      token_endpoint: `${this.issuer}/token`,
      jwks_uri: this.jwks,
      response_types_supported: ["code"],
      grant_types_supported: ["client_credentials"],
      token_endpoint_auth_methods_supported: ["client_secret_post"],
    };
  }

  async #token(request: IncomingMessage): Promise<object> {
    let body = "";
    for await (const chunk of request) body += chunk;
    const asked = new URLSearchParams(body);
    this.tokenRequests.push(asked);
    const claims: Claims = { sub: "robot" };
    const [clientId, resource, scope] = ["client_id", "resource", "scope"].map((name) => asked.get(name));
    if (clientId != null) claims.client_id = clientId;
    if (resource != null) claims.aud = resource;
    if (scope != null) claims.scope = scope;
    return { access_token: await this.sign(claims), token_type: "Bearer", expires_in: 300 };
  }
}

function answer(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { "Content-Type": "application/json" });
  response.end(JSON.stringify(body));
}

/** Starts one with one key; it is stopped when the test ends. */
export async function authorizationServer(): Promise<AuthorizationServer> {
  const server = createServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const issuer = new AuthorizationServer(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  server.on("request", (request, response) => void issuer.serve(request, response));
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  await issuer.addKey();
  return issuer;
}
