/** The barest MCP client over HTTP: one POST a request on kept-alive connections, the answer as JSON or one event stream. */
import { Agent, request as httpRequest, type IncomingMessage } from "node:http";
import { ENVELOPE_2026 } from "./in-memory-wire.js";

type Result = Record<string, unknown>;
type Params = Record<string, unknown>;

export interface HttpWire {
  request(method: string, params: Params): Promise<Result>;
  close(): void;
}

/** Each request stands alone. @param extensions what each declares */
export function wire2026(url: string, connections: number, extensions: object): HttpWire {
  const capabilities = { extensions };
  const _meta = { ...ENVELOPE_2026, "io.modelcontextprotocol/clientCapabilities": capabilities };
  const poster = new Poster(url, connections);
  const request: HttpWire["request"] = async (method, params) => {
    const name = params.taskId ?? params.name;
    const headers = { "mcp-protocol-version": "2026-07-28", "mcp-method": method, "mcp-name": String(name) };
    return resultOf(method, await poster.post(method, { ...params, _meta }, headers));
  };
  return { request, close: () => poster.close() };
}

/** One session of the 2025-11-25 revision. */
export async function wire2025(url: string, connections: number): Promise<HttpWire> {
  const poster = new Poster(url, connections);
  const clientInfo = { name: "bench", version: "1" };
  const hello = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo };
  const opened = await poster.post("initialize", hello, {});
  resultOf("initialize", opened);
  const sessionId = String(opened.response.headers["mcp-session-id"]);
  const headers = { "mcp-session-id": sessionId, "mcp-protocol-version": "2025-11-25" };
  const request: HttpWire["request"] = async (method, params) =>
    resultOf(method, await poster.post(method, params, headers));
  return { request, close: () => poster.close() };
}

interface Answer {
  response: IncomingMessage;
  body: string;
}

function resultOf(method: string, { response, body }: Answer): Result {
  const isStream = String(response.headers["content-type"]).startsWith("text/event-stream");
  const text = isStream
    ? body
        .split("\n")
        .findLast((line) => /^data: ?\{/.test(line))
        ?.slice(5)
    : body;
  const { result, error } = JSON.parse(text ?? "{}") as { result?: Result; error?: { message: string } };
  if (result === undefined) throw new Error(`${method}: HTTP ${response.statusCode} ${error?.message}: ${body}`);
  return result;
}

class Poster {
  readonly #url: URL;
  readonly #agent: Agent;
  #nextId = 1;

  constructor(url: string, connections: number) {
    this.#url = new URL(url);
    this.#agent = new Agent({ keepAlive: true, maxSockets: connections });
  }

  post(method: string, params: Params, more: Record<string, string>): Promise<Answer> {
    const body = JSON.stringify({ jsonrpc: "2.0", id: this.#nextId++, method, params });
    const headers = {
      accept: "application/json, text/event-stream",
      "content-type": "application/json",
      "content-length": Buffer.byteLength(body),
      ...more,
    };
    return new Promise((resolve, reject) => {
      const sent = httpRequest(this.#url, { method: "POST", agent: this.#agent, headers }, (response) => {
        let text = "";
        response.setEncoding("utf8").on("data", (chunk: string) => {
          text += chunk;
        });
        response.on("error", reject).on("end", () => resolve({ response, body: text }));
      });
      sent.on("error", reject).end(body);
    });
  }

  close(): void {
    this.#agent.destroy();
  }
}
