/** An MCP client over Streamable HTTP by hand: each request goes to whichever process the schedule says, in either era. */
import type { JsonObject } from "@claimcheck/core";
import type { Exchange, Reply } from "./history.js";

export const TASKS_EXTENSION = "io.modelcontextprotocol/tasks";
const ENVELOPE = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientInfo": { name: "chaos", version: "0" },
  "io.modelcontextprotocol/clientCapabilities": {
    elicitation: { form: {} },
    extensions: { [TASKS_EXTENSION]: {} },
  },
};

/** How long an answer is waited for. */
const PATIENCE_MS = 1500;

/** What makes a client another owner: of one seed alone, so that a listing shows the tasks of no other. */
export function tokenOf(seed: number, client: number): string {
  return `seed-${seed}-client-${client}`;
}

/** The client whose tasks `owner` has, as a tool is told of it. */
export function clientOf(owner: string): number {
  return Number(/seed-\d+-client-(\d+)/.exec(owner)?.[1] ?? -1);
}

export interface ClientOptions {
  number: number;
  /** The bearer token. */
  token: string;
  urlOf: (node: number) => string;
  /** Told of every exchange when it has ended. */
  onExchange: (exchange: Exchange) => void;
}

export class Client {
  readonly number: number;
  readonly #options: ClientOptions;

  constructor(options: ClientOptions) {
    this.number = options.number;
    this.#options = options;
  }

  /** Sends one request, once. Never rejects: what went wrong is in the exchange. */
  async ask(node: number, era: Exchange["era"], method: string, params: JsonObject): Promise<Exchange> {
    const sentAt = Date.now();
    const exchange: Exchange = { client: this.number, node, era, method, params, sentAt, endedAt: sentAt };
    try {
      exchange.reply = await this.#post(node, era, method, params);
    } catch (error) {
      exchange.failed = reasonOf(error);
    }
    exchange.endedAt = Date.now();
    this.#options.onExchange(exchange);
    return exchange;
  }

  async #post(node: number, era: Exchange["era"], method: string, params: JsonObject): Promise<Reply> {
    const sent =
      era === "2025" ? params : { ...params, _meta: { ...(params._meta as object | undefined), ...ENVELOPE } };
    const response = await fetch(this.#options.urlOf(node), {
      method: "POST",
      headers: this.#headers(era, method, params),
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params: sent }),
      signal: AbortSignal.timeout(PATIENCE_MS),
    });
    const text = await response.text();
    const message = JSON.parse(messageOf(response, text)) as Reply;
    // Not of the protocol: the door is closed, as while a process leaves.
    if (response.status >= 500) throw new Error(`HTTP ${response.status}`);
    return message;
  }

  #headers(era: Exchange["era"], method: string, { taskId, name }: JsonObject): Record<string, string> {
    const headers: Record<string, string> = {
      authorization: `Bearer ${this.#options.token}`,
      accept: "application/json, text/event-stream",
      "content-type": "application/json",
      "mcp-protocol-version": era === "2025" ? "2025-11-25" : "2026-07-28",
    };
    if (era === "2025") return headers;
    return { ...headers, "mcp-method": method, "mcp-name": String(taskId ?? name) };
  }
}

/** The reply of a response that may be a stream of events. */
function messageOf(response: Response, text: string): string {
  if (response.headers.get("content-type")?.startsWith("text/event-stream") !== true) return text;
  const replies = [...text.matchAll(/^data: (.+)$/gm)].map(([, data]) => data as string);
  return replies.find((data) => !("method" in JSON.parse(data))) ?? "";
}

function reasonOf(error: unknown): string {
  const { message, cause } = error as Error & { cause?: { code?: string; message?: string } };
  return cause === undefined ? message : `${message}: ${cause.code ?? cause.message}`;
}
