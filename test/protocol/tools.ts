/**
 * The tools of the server that the protocol is tested on. A test may talk to it from another process, so it steers them
 * by name: work waits at a gate until the tool `open_gate` opens it, and what the work noticed is read with `look`.
 */
import { MemoryStore, type TaskRecord } from "@claimcheck/core";
import { type Contract, createTasks, recordOutput, registerInterrupt, type Tasks } from "@claimcheck/mcp";
import { McpServer, ProtocolError } from "@modelcontextprotocol/server";
import { z } from "zod";

const OPTIONAL = { execution: { taskSupport: "optional" } } as const;
const REQUIRED = { execution: { taskSupport: "required" } } as const;
const FORBIDDEN = { execution: { taskSupport: "forbidden" } } as const;

export const NAME_FORM = { type: "object", properties: { name: { type: "string" } }, required: ["name"] } as const;

/** The protocol error that `raises` raises. */
export const RAISED = { code: -32042, message: "Sign in first.", data: { url: "https://example.com/sign-in" } };

/** What `open_gate` and `look` are about; all servers of one `Tasks` share it. */
class Gates {
  readonly #gates = new Map<string, { opened: Promise<void>; open: () => void }>();
  /** What happened to the work behind each gate, in order. */
  readonly #notes = new Map<string, string[]>();

  #gate(name: string): { opened: Promise<void>; open: () => void } {
    let gate = this.#gates.get(name);
    if (gate === undefined) {
      let open = (): void => {};
      const opened = new Promise<void>((resolve) => {
        open = resolve;
      });
      gate = { opened, open };
      this.#gates.set(name, gate);
    }
    return gate;
  }

  opened(name: string): Promise<void> {
    return this.#gate(name).opened;
  }

  open(name: string): void {
    this.#gate(name).open();
  }

  note(name: string, what: string): void {
    this.#notes.set(name, [...(this.#notes.get(name) ?? []), what]);
  }

  notes(name: string): string[] {
    return this.#notes.get(name) ?? [];
  }
}

/** Keeps no task of the tool `unstorable`. */
class RefusingStore extends MemoryStore {
  override create(record: TaskRecord): Promise<TaskRecord> {
    if (record.toolName === "unstorable") return Promise.reject(new Error("The disk of db.internal is full."));
    return super.create(record);
  }
}

export interface Served {
  tasks: Tasks;
  /** A server for one connection, or for one request. */
  newServer(): McpServer;
}

/** Tasks with the tools, in the contract that 2025-era connections get when they declare nothing. */
export function servedTools(contract: Contract): Served {
  const logger = { debug() {}, info() {}, warn() {}, error() {} };
  const tasks = createTasks({ contract, store: new RefusingStore(), logger });
  const gates = new Gates();
  return {
    tasks,
    newServer: () => {
      const server = new McpServer({ name: "claimcheck-protocol-tests", version: "0" });
      registerSteering(tasks, server, gates);
      registerQuick(tasks, server);
      registerWork(tasks, server, gates);
      registerFailures(tasks, server);
      registerQuestions(tasks, server, gates);
      return server;
    },
  };
}

function registerSteering(tasks: Tasks, server: McpServer, gates: Gates): void {
  const inputSchema = z.object({ gate: z.string() });
  tasks.registerTool(server, "open_gate", { ...FORBIDDEN, inputSchema }, ({ gate }) => gates.open(gate));
  tasks.registerTool(server, "look", { inputSchema }, ({ gate }) => ({ notes: gates.notes(gate) }));
}

function registerQuick(tasks: Tasks, server: McpServer): void {
  const inputSchema = z.object({ text: z.string() });
  tasks.registerTool(server, "echo", { ...OPTIONAL, pollInterval: 20, inputSchema }, ({ text }) => ({
    content: [{ type: "text", text }],
    structuredContent: { text },
    _meta: { "example.com/length": text.length },
  }));
  tasks.registerTool(server, "only_task", { ...REQUIRED, pollInterval: 20 }, () => "done");
  tasks.registerTool(server, "unstorable", OPTIONAL, () => "kept nowhere");
  tasks.registerTool(server, "helpers", OPTIONAL, (_args, ctx) => ({
    isTask: ctx.task !== null,
    taskId: ctx.task?.taskId ?? null,
    recorded: recordOutput(["so far"]),
    registered: registerInterrupt(() => {}),
    isCancelled: ctx.cancelToken.isCancelled(),
    request: Object.keys(ctx.request).sort(),
  }));
}

function registerWork(tasks: Tasks, server: McpServer, gates: Gates): void {
  const inputSchema = z.object({
    gate: z.string(),
    outputs: z.array(z.string()).default([]),
    badInterrupt: z.boolean().default(false),
    finishes: z.boolean().default(false),
  });
  // Says progress before and after the gate, logs after it, and keeps what it recorded; cancelled, it stops, unless it `finishes`.
  tasks.registerTool(
    server,
    "hold",
    { ...OPTIONAL, pollInterval: 20, inputSchema },
    async ({ gate, outputs, badInterrupt, finishes }, ctx) => {
      gates.note(gate, "started");
      registerInterrupt(() => {
        gates.note(gate, "interrupted");
        if (badInterrupt) throw new Error("No such kernel.");
      });
      for (const [index] of outputs.entries()) recordOutput(outputs.slice(0, index + 1));
      ctx.sendProgress(1, { total: 2, message: "half-way" });
      const cancelled = ctx.cancelToken.wait();
      await Promise.race([gates.opened(gate), cancelled]);
      if (!finishes) ctx.cancelToken.checkCancelled();
      ctx.log("notice", `through ${gate}`);
      ctx.sendProgress(2, { total: 2, message: "all the way" });
      gates.note(gate, "finished");
      return { content: [{ type: "text", text: "let go" }] };
    },
  );
}

function registerFailures(tasks: Tasks, server: McpServer): void {
  tasks.registerTool(server, "fails", { ...OPTIONAL, pollInterval: 20 }, () => ({
    content: [{ type: "text", text: "No such branch." }],
    isError: true,
  }));
  tasks.registerTool(server, "throws", { ...OPTIONAL, pollInterval: 20 }, () => {
    recordOutput(["line 1", "line 2"]);
    throw new Error("Out of disk.");
  });
  tasks.registerTool(server, "raises", { ...OPTIONAL, pollInterval: 20 }, () => {
    throw new ProtocolError(RAISED.code, RAISED.message, RAISED.data);
  });
}

function registerQuestions(tasks: Tasks, server: McpServer, gates: Gates): void {
  const inputSchema = z.object({ questions: z.array(z.string()), together: z.boolean().default(false) });
  // Answers what was said to each question: a name, or the action.
  tasks.registerTool(
    server,
    "asks",
    { ...OPTIONAL, pollInterval: 20, inputSchema },
    async ({ questions, together }, ctx) => {
      const ask = async (message: string): Promise<string> => {
        const said = await ctx.elicit({ message, requestedSchema: NAME_FORM });
        return said.action === "accept" ? String(said.content.name) : said.action;
      };
      const names: string[] = [];
      if (together) names.push(...(await Promise.all(questions.map(ask))));
      else for (const question of questions) names.push(await ask(question));
      return { content: [{ type: "text", text: names.join(" and ") }], structuredContent: { names } };
    },
  );
  const askFirst = () => ({ who: { message: "Who?", requestedSchema: NAME_FORM } });
  tasks.registerTool(server, "asks_first", { ...OPTIONAL, pollInterval: 20, askFirst }, (_args, ctx) => ({
    who: ctx.answers.who ?? null,
  }));
  const oneGate = z.object({ gate: z.string() });
  tasks.registerTool(server, "pauses", { ...OPTIONAL, inputSchema: oneGate }, async ({ gate }, ctx) => {
    await ctx.task?.requireInput("Choose the target.");
    await gates.opened(`${gate} resumes`);
    await ctx.task?.setWorking("Going on.");
    await gates.opened(gate);
    return "published";
  });
}
