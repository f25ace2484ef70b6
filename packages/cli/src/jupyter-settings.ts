/** What `claimcheck jupyter` is told, by flags and by the environment, checked and completed. */
import { randomBytes } from "node:crypto";
import { isIPv6 } from "node:net";
import { join, resolve } from "node:path";
import type { Contract, JwtAuth, ScopeTable } from "@claimcheck/mcp";
import { UsageError } from "./errors.js";
import type { Host } from "./host.js";
import type { LogLevel } from "./log.js";
import { isLoopback } from "./loopback.js";
import { setting } from "./setting.js";
import { stateDir } from "./state-dir.js";

/** The flags as they were given; absent ones are undefined. */
export interface JupyterFlags {
  http?: boolean;
  port?: number;
  host?: string;
  mcpToken?: string;
  /** False for `--no-auth`. */
  auth?: boolean;
  issuer?: string;
  jwks?: string;
  resource?: string;
  audience?: string[];
  scope?: string[];
  allowHost?: string[];
  allowOrigin?: string[];
  jupyterUrl?: string;
  token?: string;
  root?: string;
  notebook?: string;
  store?: string;
  contract?: Contract;
  grace?: number;
  logLevel?: LogLevel;
}

/** How clients reach the server over HTTP. */
export interface HttpSettings {
  port: number;
  host: string;
  /** Whose JWTs let in. Undefined: it is the token that does. */
  jwt: JwtAuth | undefined;
  /** Undefined without {@link HttpSettings.jwt}: whoever reaches the port is served. */
  token: string | undefined;
  /** Made for this run, so that whoever starts the server has to be told. */
  tokenIsNew: boolean;
  allowedHosts: readonly string[] | undefined;
  allowedOrigins: readonly string[] | undefined;
}

export interface JupyterSettings {
  /** Undefined: one client on stdin and stdout. */
  http: HttpSettings | undefined;
  /** Undefined: a private Jupyter Server is started. */
  jupyterUrl: string | undefined;
  jupyterToken: string | undefined;
  /** The folder of the notebooks of a private server. */
  rootDir: string;
  /** The notebook that is meant when a call names none. */
  notebook: string | undefined;
  /** As {@link openStore} reads it. */
  store: string;
  /** What clients of 2025 that declare no extension get. */
  contract: Contract;
  /** The folder of what outlives the process. */
  stateDir: string;
  graceMs: number;
  logLevel: LogLevel;
  /** What was set and has no effect, or should be thought over; one sentence each. */
  warnings: readonly string[];
}

export const CONTRACTS: readonly Contract[] = ["datalayer", "2025-11-25"];
export const DEFAULT_PORT = 4040;
export const DEFAULT_HOST = "127.0.0.1";
export const DEFAULT_GRACE_S = 5;

/**
 * Flags win over the environment.
 * @throws UsageError for what cannot be meant
 */
export function jupyterSettings(flags: JupyterFlags, host: Host): JupyterSettings {
  const { env } = host;
  const dir = stateDir(host);
  const jupyterUrl = setting(flags.jupyterUrl) ?? setting(env.JUPYTER_URL);
  const storeClass = setting(env.JUPYTER_MCP_TASK_STORE_CLASS);
  return {
    http: flags.http === true ? httpSettings(flags, env) : undefined,
    jupyterUrl,
    jupyterToken: setting(flags.token) ?? setting(env.JUPYTER_TOKEN),
    rootDir: resolve(host.cwd, setting(flags.root) ?? "."),
    notebook: setting(flags.notebook) ?? setting(env.DOCUMENT_ID),
    store: setting(flags.store) ?? storeClass ?? `sqlite:${usualStoreFile(dir)}`,
    contract: flags.contract ?? "datalayer",
    stateDir: dir,
    graceMs: (flags.grace ?? DEFAULT_GRACE_S) * 1000,
    logLevel: flags.logLevel ?? "warn",
    warnings: warningsOf(flags, env, jupyterUrl),
  };
}

/** The file that tasks live in when nothing else is asked for; its folder may have to be made. */
export function usualStoreFile(stateDir: string): string {
  return join(stateDir, "jupyter-tasks.db");
}

function httpSettings(flags: JupyterFlags, env: Host["env"]): HttpSettings {
  const given = setting(flags.mcpToken) ?? setting(env.MCP_TOKEN);
  if (flags.auth === false && setting(flags.mcpToken) !== undefined) {
    throw new UsageError("--no-auth and --mcp-token contradict each other: give one of them");
  }
  if (given !== undefined && !/^[\x21-\x7e]+$/.test(given)) {
    throw new UsageError(
      "the token for clients (--mcp-token, MCP_TOKEN) has to be of visible ASCII characters: it travels in a header",
    );
  }
  checkHostNames("--allow-host", flags.allowHost);
  checkHostNames("--allow-origin", flags.allowOrigin);
  const jwt = jwtSettings(flags);
  const isOpen = flags.auth === false || jwt !== undefined;
  const token = isOpen ? undefined : (given ?? randomBytes(24).toString("base64url"));
  const host = setting(flags.host) ?? DEFAULT_HOST;
  return {
    port: flags.port ?? DEFAULT_PORT,
    host,
    jwt,
    token,
    tokenIsNew: token !== undefined && given === undefined,
    allowedHosts: allowedHosts(flags.allowHost, host),
    allowedOrigins: flags.allowOrigin,
  };
}

/** An origin such as https://app.example would be let in by nothing. */
function checkHostNames(option: string, names: readonly string[] | undefined): void {
  const wrong = names?.find((name) => !/^(\[[^\]\s]+\]|[^\s/:[\]]+)$/.test(name));
  if (wrong === undefined) return;
  const right = "takes host names without scheme and port, such as app.example";
  throw new UsageError(`${option} ${right}; got ${JSON.stringify(wrong)}`);
}

const JWT_FLAGS = {
  issuer: "--issuer",
  jwks: "--jwks",
  resource: "--resource",
  audience: "--audience",
  scope: "--scope",
} as const;

/** The authorization server whose tokens let in, if one is named. */
function jwtSettings(flags: JupyterFlags): JwtAuth | undefined {
  const { issuer, jwks, resource } = flags;
  const others = (Object.keys(JWT_FLAGS) as (keyof typeof JWT_FLAGS)[]).filter((name) => flags[name] !== undefined);
  if (issuer === undefined) {
    const [first] = others;
    if (first !== undefined) throw new UsageError(`${JWT_FLAGS[first]} needs --issuer: whose tokens are they?`);
    return undefined;
  }
  if (jwks === undefined) throw new UsageError("--issuer needs --jwks: where the issuer publishes its keys");
  if (flags.auth === false) throw new UsageError("--no-auth and --issuer contradict each other: give one of them");
  if (setting(flags.mcpToken) !== undefined)
    throw new UsageError("--mcp-token and --issuer contradict each other: give one of them");
  for (const [option, url] of [
    ["--issuer", issuer],
    ["--jwks", jwks],
    ["--resource", resource],
  ] as const) {
    if (url !== undefined && !URL.canParse(url))
      throw new UsageError(`${option} has to be a URL; got ${JSON.stringify(url)}`);
  }
  return {
    issuer,
    jwks,
    ...(resource !== undefined && { resource }),
    ...(flags.audience !== undefined && { audience: flags.audience }),
    ...(flags.scope !== undefined && { scopes: scopeTable(flags.scope) }),
  };
}

/** Of `tools/call=tools:run,notebooks`, again and again. */
function scopeTable(rows: readonly string[]): ScopeTable {
  const table = new Map<string, string[]>();
  for (const row of rows) {
    const [, method, scopes] = /^([^=]+)=([^=,]+(?:,[^=,]+)*)$/.exec(row) ?? [];
    if (method === undefined || scopes === undefined)
      throw new UsageError(`--scope is METHOD=SCOPE,…, such as tools/call=tools:run; got ${JSON.stringify(row)}`);
    table.set(method, [...(table.get(method) ?? []), ...scopes.split(",")]);
  }
  return Object.fromEntries(table);
}

/** Further names come beside what a server without any is called: loopback's names and the address that it listens on. */
function allowedHosts(given: string[] | undefined, host: string): string[] | undefined {
  return given === undefined
    ? undefined
    : ["127.0.0.1", "localhost", "[::1]", isIPv6(host) ? `[${host}]` : host, ...given];
}

function warningsOf(flags: JupyterFlags, env: Host["env"], jupyterUrl: string | undefined): string[] {
  return [
    ...idleTransportFlags(flags),
    ...idleJupyterFlags(flags, env, jupyterUrl),
    ...idleStoreVariable(flags, env),
    ...idleVariables(env),
    ...openDoors(flags, env),
  ];
}

/** Flag → the option as it is written. */
const HTTP_FLAGS = {
  port: "--port",
  host: "--host",
  mcpToken: "--mcp-token",
  ...JWT_FLAGS,
  allowHost: "--allow-host",
  allowOrigin: "--allow-origin",
} as const;

function idleTransportFlags(flags: JupyterFlags): string[] {
  if (flags.http === true) return [];
  const names = (Object.keys(HTTP_FLAGS) as (keyof typeof HTTP_FLAGS)[]).filter((name) => flags[name] !== undefined);
  const idle = [...names.map((name) => HTTP_FLAGS[name]), ...(flags.auth === false ? ["--no-auth"] : [])];
  return idle.map((option) => `${option} has no effect on stdio; it needs --http`);
}

function idleJupyterFlags(flags: JupyterFlags, env: Host["env"], jupyterUrl: string | undefined): string[] {
  const withoutServer =
    "has no effect without --jupyter-url or JUPYTER_URL: a private Jupyter Server has a token of its own";
  if (jupyterUrl !== undefined) {
    return setting(flags.root) === undefined
      ? []
      : ["--root has no effect on a Jupyter Server that is running already"];
  }
  if (setting(flags.token) !== undefined) return [`--token ${withoutServer}`];
  return setting(env.JUPYTER_TOKEN) === undefined ? [] : [`JUPYTER_TOKEN ${withoutServer}`];
}

function idleStoreVariable(flags: JupyterFlags, env: Host["env"]): string[] {
  const both = setting(flags.store) !== undefined && setting(env.JUPYTER_MCP_TASK_STORE_CLASS) !== undefined;
  return both ? ["JUPYTER_MCP_TASK_STORE_CLASS has no effect beside --store"] : [];
}

/** Settings that people carry over from datalayer's jupyter-mcp-server, whose other names are kept. */
const VARIABLES_OF_OTHERS: Readonly<Record<string, string>> = {
  JUPYTER_PASSWORD: "give the server's token in JUPYTER_TOKEN",
  DOCUMENT_URL: "give the one Jupyter Server in JUPYTER_URL",
  RUNTIME_URL: "give the one Jupyter Server in JUPYTER_URL",
  CODE_SANDBOX_URL: "give the one Jupyter Server in JUPYTER_URL",
  DOCUMENT_TOKEN: "give the server's token in JUPYTER_TOKEN",
  RUNTIME_TOKEN: "give the server's token in JUPYTER_TOKEN",
  CODE_SANDBOX_TOKEN: "give the server's token in JUPYTER_TOKEN",
  TRANSPORT: "ask for HTTP by --http",
  INSECURE_MCP_NOAUTH: "ask for it by --no-auth",
};

function idleVariables(env: Host["env"]): string[] {
  return Object.entries(VARIABLES_OF_OTHERS)
    .filter(([name]) => setting(env[name]) !== undefined)
    .map(([name, instead]) => `${name} has no effect here; ${instead}`);
}

function openDoors(flags: JupyterFlags, env: Host["env"]): string[] {
  if (flags.http !== true) return [];
  if (flags.issuer !== undefined)
    return setting(env.MCP_TOKEN) === undefined ? [] : ["MCP_TOKEN has no effect beside --issuer"];
  if (flags.auth !== false) return [];
  const host = setting(flags.host) ?? DEFAULT_HOST;
  const unused = setting(env.MCP_TOKEN) === undefined ? [] : ["MCP_TOKEN has no effect beside --no-auth"];
  const who = isLoopback(host) ? "every program on this machine" : `everybody who reaches ${host}`;
  return [...unused, `--no-auth: ${who} can run code as you`];
}
