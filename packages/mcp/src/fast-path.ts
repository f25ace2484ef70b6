/**
 * Answers the commonest requests of tasks at the transport, without the SDK's dispatch, which costs more than all the
 * rest of such a request. Only what is plain is taken; anything unusual goes the SDK's way, so that the answers are
 * the same. Nothing depends on this file: `fastPath: false` leaves it out.
 */
import type { JsonObject } from "@claimcheck/core";
import type { JSONRPCRequest, McpServer, MessageExtraInfo, RegisteredTool } from "@modelcontextprotocol/server";
import type { Binding } from "./binding.js";
import type { Connection, TaskIntent } from "./connection.js";
import { answerMethod, type TaskRequest } from "./methods.js";
import { asObject, type Sender } from "./request.js";
import type { Tool } from "./tool.js";

/** A tool, and what was registered for it: an author may change that at any time. */
export interface ToolEntry {
  tool: Tool;
  registered: RegisteredTool;
  /** As it was when it was registered. */
  inputSchema: RegisteredTool["inputSchema"];
  handler: RegisteredTool["handler"];
}

/** Of 2025-era requests; those of 2026 carry an envelope that the SDK checks. */
const METHODS: ReadonlySet<string> = new Set(["tasks/get", "tasks/result"]);

/** Answers `request` if it is one for the fast path; `false` when it is the SDK's. */
export function answersMethod(
  binding: Binding,
  request: JSONRPCRequest,
  extra: MessageExtraInfo | undefined,
  connection: Connection,
): boolean {
  const { method, id } = request;
  const params = asObject(request.params);
  if (params === undefined || !METHODS.has(method) || !isPlain(request, params)) return false;
  const signal = connection.hangupOf(id);
  const asked: TaskRequest = {
    binding,
    connection,
    dialect: binding.dialectOf(asObject(params._meta)).dialect,
    era: "2025",
    sender: senderOf(request, extra, connection),
    params,
    signal,
  };
  void answerMethod(method, asked).then((answer) => {
    if (!signal.aborted) connection.reply(id, answer);
  });
  return true;
}

/** Creates the task that `request` asks for if it is one for the fast path; `false` when it is the SDK's. */
export function createsTask(
  binding: Binding,
  mcp: McpServer,
  entry: ToolEntry,
  intent: TaskIntent,
  request: JSONRPCRequest,
  extra: MessageExtraInfo | undefined,
  connection: Connection,
): boolean {
  const params = asObject(request.params);
  if (params === undefined || !isPlain(request, params) || !isFlat(params.arguments)) return false;
  if (!isAsRegistered(mcp, entry)) return false;
  connection.expect(request.id, intent);
  void create(binding, entry.tool, intent, senderOf(request, extra, connection), connection);
  return true;
}

async function create(
  binding: Binding,
  tool: Tool,
  intent: TaskIntent,
  sender: Sender,
  connection: Connection,
): Promise<void> {
  const checking = tool.check(intent.arguments);
  const checked = checking instanceof Promise ? await checking : checking;
  if ("refused" in checked) {
    connection.reply(sender.id, { fault: { code: "invalid_arguments", message: checked.refused } });
    return;
  }
  const { answer, release } = await binding.createTask(tool, checked.input, sender, intent, connection);
  connection.reply(sender.id, answer);
  release();
}

function senderOf({ id }: JSONRPCRequest, extra: MessageExtraInfo | undefined, { sessionId }: Connection): Sender {
  return { id, authInfo: extra?.authInfo, sessionId, httpRequest: extra?.request };
}

/** Whether the SDK's schemas would have nothing to say about the request's frame and metadata, and its era is 2025. */
function isPlain({ jsonrpc, id }: JSONRPCRequest, params: JsonObject): boolean {
  if (jsonrpc !== "2.0" || (typeof id !== "string" && !Number.isSafeInteger(id))) return false;
  if (params._meta === undefined) return true;
  const meta = asObject(params._meta);
  return meta !== undefined && Object.entries(meta).every(isPlainMeta);
}

function isPlainMeta([name, value]: [string, unknown]): boolean {
  if (name === "progressToken") return typeof value === "string" || Number.isSafeInteger(value);
  return !name.startsWith("io.modelcontextprotocol/");
}

/** More than this may be over the limit that an author sets with `maxToolInputElements`, which the SDK alone knows. */
const MAX_MEMBERS = 8;

function isFlat(args: unknown): boolean {
  if (args === undefined) return true;
  const members = asObject(args);
  if (members === undefined) return false;
  const values = Object.values(members);
  return values.length <= MAX_MEMBERS && values.every((value) => typeof value !== "object" || value === null);
}

function isAsRegistered(mcp: McpServer, { tool, registered, inputSchema, handler }: ToolEntry): boolean {
  if (!registered.enabled || registered.inputSchema !== inputSchema || registered.handler !== handler) return false;
  // Undefined as well for a tool that has been removed or renamed.
  return mcp.toolInputSchemaJson(tool.name) !== undefined;
}
