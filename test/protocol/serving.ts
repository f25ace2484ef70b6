/** The tools served over each transport, and clients of them. */
import { type HttpServing, serveHttp } from "@claimcheck/mcp";
import type { AuthInfo } from "@modelcontextprotocol/server";
import { Client, type DialectName, TASKS_EXTENSION } from "./client.js";
import { type Served, servedTools } from "./tools.js";
import { HttpWire, memoryWire, stdioWire, type Wire } from "./wires.js";

export const TRANSPORTS = ["in memory", "HTTP without sessions", "HTTP with sessions", "stdio"] as const;
export type TransportName = (typeof TRANSPORTS)[number];

export interface ConnectOptions {
  /** Who the client proves to be, where it is asked; `null` proves nothing. Default: Ada. */
  as?: string | null;
  /** Of a 2025-era connection. Default: 2025-11-25. */
  protocolVersion?: string;
}

export interface Serving {
  transport: TransportName;
  dialect: DialectName;
  /** Whether a client is asked who it is; otherwise it is its connection. */
  asksWho: boolean;
  connect(options?: ConnectOptions): Promise<Client>;
  close(): Promise<void>;
}

/** Whoever says a name is taken for it. */
export async function verifyToken(token: string): Promise<AuthInfo> {
  return { token, clientId: "tests", scopes: [], extra: { iss: "https://id.example", sub: token } };
}

/** Serves the tools over `transport` to clients that speak `dialect`. Without `auth`, nobody is asked who they are. */
export async function serve(transport: TransportName, dialect: DialectName, auth = true): Promise<Serving> {
  const contract = dialect === "io.datalayer/tasks" ? "datalayer" : "2025-11-25";
  const served = servedTools(contract);
  await served.tasks.open();
  const http = transport.startsWith("HTTP") ? await overHttp(served, transport, auth) : undefined;
  const asksWho = http !== undefined ? auth : transport === "in memory" && dialect !== "2026-07-28";
  const wireTo = async (as: string | null, protocolVersion: string): Promise<Wire> => {
    if (http !== undefined) return new HttpWire(http.url, headersOf(dialect, as, protocolVersion));
    if (transport === "stdio") return stdioWire(contract);
    return memoryWire(served, as === null || !asksWho ? undefined : await verifyToken(as));
  };
  const clients: Client[] = [];
  const connect = async ({ as = "ada", protocolVersion = "2025-11-25" }: ConnectOptions = {}): Promise<Client> => {
    const client = new Client(dialect, await wireTo(as, protocolVersion), capabilitiesOf(dialect));
    clients.push(client);
    if (!client.isModern && transport !== "HTTP without sessions") await client.initialize(protocolVersion);
    return client;
  };
  return {
    transport,
    dialect,
    asksWho,
    // A connection over stdio is a process: one serves all who connect in the same way.
    connect: transport === "stdio" ? sharing(connect) : connect,
    close: async () => {
      await Promise.all(clients.map((client) => client.close()));
      await http?.close();
      await served.tasks.close();
    },
  };
}

function overHttp({ tasks, newServer }: Served, transport: TransportName, auth: boolean): Promise<HttpServing> {
  const sessions = transport === "HTTP with sessions";
  return serveHttp(tasks, newServer, { auth: auth ? { verifyToken } : "none", sessions });
}

function headersOf(dialect: DialectName, as: string | null, protocolVersion: string): Record<string, string> {
  return {
    ...(as !== null && { authorization: `Bearer ${as}` }),
    ...(dialect !== "2026-07-28" && { "mcp-protocol-version": protocolVersion }),
  };
}

export function capabilitiesOf(dialect: DialectName): Record<string, unknown> {
  const elicitation = { form: {} };
  return dialect === "2026-07-28" ? { elicitation, extensions: { [TASKS_EXTENSION]: {} } } : { elicitation };
}

function sharing(connect: Serving["connect"]): Serving["connect"] {
  const made = new Map<string, Promise<Client>>();
  return ({ protocolVersion = "2025-11-25" } = {}) => {
    const client = made.get(protocolVersion) ?? connect({ protocolVersion });
    made.set(protocolVersion, client);
    return client;
  };
}
