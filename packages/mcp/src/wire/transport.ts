/**
 * What only the wire can do. The SDK hands a tool neither `params.task` nor a way to answer with a task, so the
 * connected transport is decorated in place, with public members alone: a wrapper object would lose the classes and
 * the session id by which the SDK's entries know their own transports.
 */
import type { JsonObject } from "@claimcheck/core";
import type {
  JSONRPCMessage,
  JSONRPCNotification,
  JSONRPCRequest,
  McpServer,
  MessageExtraInfo,
  RequestId,
  Transport,
} from "@modelcontextprotocol/server";
import { Connection, type Response } from "./connection.js";
import { answerMalformed } from "./malformed.js";

/** What the binding does with what comes in. */
export interface Inbound {
  /** Looks at a request before the SDK does; answers what the SDK is to see of it, `null` when it is answered already. */
  request(request: JSONRPCRequest, extra: MessageExtraInfo | undefined, connection: Connection): JSONRPCRequest | null;
  /** Takes a response; `false` when it answers a request of the SDK's. */
  response(response: JSONRPCMessage, extra: MessageExtraInfo | undefined, connection: Connection): boolean;
}

/** Decorates every transport that `server` connects to, whatever serves it, and tells of each new connection. */
export function decorateConnections(
  server: McpServer["server"],
  inbound: Inbound,
  onConnection: (connection: Connection) => void,
): void {
  const connect = server.connect.bind(server);
  server.connect = async (transport) => {
    decorateOnStart(transport, () => {
      const send = transport.send.bind(transport);
      onConnection(decorate(transport, inbound));
      answerMalformed(transport, send);
    });
    await connect(transport);
  };
}

/**
 * The SDK sets its handlers and then starts the transport, which may deliver what has been waiting at once: the
 * moment between the two is the only one at which nothing is missed.
 */
export function decorateOnStart(transport: Transport, decorate: () => void): void {
  const start = transport.start.bind(transport);
  transport.start = async () => {
    transport.start = start;
    decorate();
    await start();
  };
}

function decorate(transport: Transport, inbound: Inbound): Connection {
  const send = transport.send.bind(transport);
  const connection = new Connection(transport, send);
  const { onmessage, onclose } = transport;
  transport.onmessage = (message, extra) => {
    if (isCancellation(message)) {
      if (!isCancellable(cancelledId(message), connection)) return;
      if (!connection.hangUp(cancelledId(message))) onmessage?.(message, extra);
      endStream(transport, send, cancelledId(message));
      return;
    }
    if (isResponse(message) && inbound.response(message, extra, connection)) return;
    const passed = isRequest(message) ? inbound.request(message, extra, connection) : message;
    if (passed !== null) onmessage?.(passed, extra);
  };
  transport.send = async (message, options) => {
    if (!isResponse(message)) return send(message, options);
    await send(connection.replace(message), options);
    connection.sent(message.id);
  };
  transport.onclose = () => {
    connection.close();
    onclose?.();
  };
  return connection;
}

function isRequest(message: JSONRPCMessage): message is JSONRPCRequest {
  return "method" in message && "id" in message;
}

function isCancellation(message: JSONRPCMessage): message is JSONRPCNotification {
  return "method" in message && message.method === "notifications/cancelled";
}

/** A request that creates a task is over when it is answered; what stops the task is tasks/cancel. */
function isCancellable(id: RequestId, connection: Connection): boolean {
  return connection.intentOf(id) === undefined;
}

/**
 * A cancelled request is not answered, and the SDK's HTTP session then keeps its stream, and what it knows of it, for
 * as long as the session lasts. With the stream closed, an answer goes nowhere and takes the rest away.
 */
function endStream(transport: Transport, send: Transport["send"], id: RequestId): void {
  if (!("closeSSEStream" in transport) || id === undefined) return;
  (transport as { closeSSEStream(id: RequestId): void }).closeSSEStream(id);
  send({ jsonrpc: "2.0", id, error: { code: 0, message: "cancelled" } }).catch(() => {});
}

function cancelledId({ params }: JSONRPCNotification): RequestId {
  return (params as JsonObject | undefined)?.requestId as RequestId;
}

function isResponse(message: JSONRPCMessage): message is JSONRPCMessage & Response {
  return !("method" in message);
}
