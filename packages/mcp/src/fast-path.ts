/**
 * Answers the commonest requests of tasks at the transport, without the SDK's dispatch, which costs more than all the
 * rest of such a request. Only what is plain is taken; anything unusual goes the SDK's way, so that the answers are
 * the same. Nothing depends on this file: `fastPath: false` leaves it out.
 */
import type { JsonObject } from "@claimcheck/core";
import type { JSONRPCRequest, McpServer, MessageExtraInfo } from "@modelcontextprotocol/server";
import type { Binding, ToolEntry } from "./binding.js";
import { createTask } from "./calls/create-task.js";
import { type Answer, type Dialect, type Era, TASKS_EXTENSION } from "./dialects/dialect.js";
import { thrownResult } from "./dialects/tool-result.js";
import { answerMethod, type TaskRequest } from "./methods.js";
import type { Tool } from "./tools/tool.js";
import type { Connection, TaskIntent } from "./wire/connection.js";
import { asObject, isOf2026, isOfEnvelope, messageSender, type Sender } from "./wire/request.js";

/** By the era of the request; the SDK keeps `tasks/result` from those of 2026. */
const METHODS: Readonly<Record<Era, ReadonlySet<string>>> = {
  "2025": new Set(["tasks/get", "tasks/result"]),
  "2026": new Set(["tasks/get"]),
};

/** Answers `request` if it is one for the fast path; `false` when it is the SDK's. */
export function answersMethod(
  binding: Binding,
  request: JSONRPCRequest,
  extra: MessageExtraInfo | undefined,
  connection: Connection,
): boolean {
  const { method, id } = request;
  const params = asObject(request.params);
  if (params === undefined || !METHODS["2025"].has(method) || !isPlain(request, params, connection)) return false;
  const { dialect, declaration } = binding.dialectOf(asObject(params._meta));
  const { era } = declaration;
  if (!METHODS[era].has(method) || !isWhole(dialect, era)) return false;
  const signal = connection.hangupOf(id);
  const asked: TaskRequest = {
    binding,
    connection,
    dialect,
    declaration,
    sender: messageSender(id, extra, connection.sessionId),
    params,
    signal,
  };
  void answerMethod(method, asked).then((answer) => {
    if (!signal.aborted) connection.reply(id, answer);
  });
  return true;
}

/** A call that asks for a task. */
interface AskedTask {
  request: JSONRPCRequest;
  toolName: string;
  sender: Sender;
  intent: TaskIntent;
  connection: Connection;
}

/** Creates the task that a call asks for if the call is one for the fast path; `false` when it is the SDK's. */
export function createsTask(binding: Binding, asked: AskedTask): boolean {
  const entry = binding.toolEntry(asked.toolName);
  if (!binding.shared.fastPath || entry === undefined || !isOneExchange(entry.tool, asked.intent)) return false;
  const { request, intent, connection } = asked;
  const params = asObject(request.params);
  if (params === undefined || !isPlain(request, params, connection) || !isFlat(params.arguments)) return false;
  if (!isWhole(intent.dialect, intent.era) || !isAsRegistered(binding.mcp, entry)) return false;
  connection.expect(request.id, intent);
  void create(binding, entry.tool, asked);
  return true;
}

/** Whether the call cannot take more than one exchange, which this path does not know. */
function isOneExchange({ askFirst, inlineMs }: Tool, { era }: TaskIntent): boolean {
  return era === "2025" || (askFirst === undefined && inlineMs === 0);
}

async function create(binding: Binding, tool: Tool, { sender, intent, connection }: AskedTask): Promise<void> {
  const checking = tool.check(intent.arguments);
  const checked = checking instanceof Promise ? await checking : checking;
  if ("refused" in checked) {
    connection.reply(sender.id, refusal(intent.dialect, checked.refused));
    return;
  }
  const { answer, release } = await createTask(binding, { tool, input: checked.input, sender, intent, connection });
  connection.reply(sender.id, answer);
  release();
}

/** Who did not ask for a task in the request itself is answered as by a tool that runs at once. */
function refusal({ asksByRequest }: Dialect, message: string): Answer {
  if (asksByRequest) return { fault: { code: "invalid_arguments", message } };
  return { result: { resultType: "complete", ...thrownResult(message) } };
}

/** Whether what the dialect answers needs nothing more: the SDK adds to what our own dialect says on 2026-07-28. */
function isWhole(dialect: Dialect | null, era: Era): boolean {
  return era === "2025" || dialect?.name === TASKS_EXTENSION;
}

/** Whether the SDK's schemas would have nothing to say about the request's frame and metadata. */
function isPlain({ jsonrpc, id }: JSONRPCRequest, params: JsonObject, connection: Connection): boolean {
  if (jsonrpc !== "2.0" || (typeof id !== "string" && !Number.isSafeInteger(id))) return false;
  if (params.inputResponses !== undefined || params.requestState !== undefined) return false;
  if (params._meta === undefined) return true;
  const meta = asObject(params._meta);
  if (meta === undefined || (isOf2026(meta) && !connection.isAdmitted(meta))) return false;
  return Object.entries(meta).every(([name, value]) => isPlainMeta(name, value, isOf2026(meta)));
}

function isPlainMeta(name: string, value: unknown, hasEnvelope: boolean): boolean {
  if (name === "progressToken") return typeof value === "string" || Number.isSafeInteger(value);
  return !name.startsWith("io.modelcontextprotocol/") || (hasEnvelope && isOfEnvelope(name));
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
