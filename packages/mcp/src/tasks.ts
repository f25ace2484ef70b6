/**
 * The door of this package: one `Tasks` serves any number of MCP servers from one runtime. Make it once per process,
 * register the tools on each server that a connection gets, and close it last.
 */
import {
  aFunction,
  anything,
  type CloseOptions,
  checkOptions,
  type Logger,
  listOfText,
  type OptionRules,
  oneOf,
  RUNTIME_OPTIONS,
  stderrLogger,
  systemClock,
  TaskRuntime,
  type TaskRuntimeOptions,
  trueOrFalse,
} from "@claimcheck/core";
import {
  type AuthInfo,
  McpServer,
  type RegisteredTool,
  type StandardSchemaWithJSON,
  type ToolCallback,
} from "@modelcontextprotocol/server";
import { Binding, type Shared } from "./binding.js";
import { runCall } from "./calls/run-call.js";
import type { Contract, IsErrorAs } from "./dialects/choose.js";
import { promotable } from "./fallback/handle.js";
import { checkPromotion } from "./fallback/promoted-call.js";
import { Subscriptions } from "./listen/subscriptions.js";
import { defaultPrincipalOf, identify, type Ownership, type Principal } from "./owner.js";
import { FirstRounds } from "./questions/ask-first.js";
import { Deliveries } from "./questions/delivery.js";
import { ParkedCalls } from "./questions/parked-calls.js";
import { asAnswer, takeAnswer } from "./questions/take-answer.js";
import { Runners } from "./runners/runners.js";
import type { WorkerThreadsOptions } from "./runners/thread-pool.js";
import type { AnyToolConfig, RunnerHandlers, RunnerName, ShownConfig, ToolConfig } from "./tools/config.js";
import { checkTool } from "./tools/options.js";
import { Tool } from "./tools/tool.js";

/** How the runtime works, and how MCP is served from it. */
export interface TasksOptions extends TaskRuntimeOptions {
  /** Default `"session"`. */
  ownership?: Ownership;
  /** What a verified token proves. Default: `iss` (or `issuer`) and `sub` (or `subject`) of `authInfo.extra`, and `authInfo.clientId`. */
  principalOf?: (authInfo: AuthInfo) => Principal;
  /** What a connection of 2025 that declares nothing speaks. Default `"2025-11-25"`. */
  contract?: Contract;
  /**
   * What a task of 2025-11-25 is whose result says `isError`: `"failed"`, as the specification has it, or `"completed"`, for
   * clients that never fetch a failed task's result. Default `"failed"`.
   */
  isErrorAs?: IsErrorAs;
  /** Answer a tool's unexpected error with one fixed sentence, on the direct and the task path alike. Default: its message is shown. */
  maskErrors?: boolean;
  /**
   * Names of HTTP request headers that a tool may read in `ctx.request.headers`. They are stored with the task; a bearer token
   * is not handed on once it has expired. Default: none.
   */
  keepHeaders?: readonly string[];
  /**
   * Give clients that know no tasks plain tools to reach theirs: `task_list`, `task_status`, `task_result`, `task_cancel`
   * and `task_answer`, on every server; and let tools have their calls go on as tasks (`promoteAfterMs`). Default: no.
   */
  fallbackTools?: boolean;
  /** Answer the commonest requests of tasks without the SDK's dispatch. The answers are the same. Default: yes. */
  fastPath?: boolean;
  /**
   * Seals what a 2026-era client carries between the rounds of `askFirst`; at least 32 bytes, the same in every process
   * that may get a round of one call. Default: this process's own.
   */
  requestStateKey?: Uint8Array | string;
  /** The threads in which the tools with the runner `"worker"` run. Default: as many as the machine runs in parallel, kept for 30 seconds. */
  workerThreads?: WorkerThreadsOptions;
}

const OPTIONS: OptionRules<TasksOptions> = {
  ...RUNTIME_OPTIONS,
  ownership: oneOf("session", "principal", "single-user"),
  principalOf: aFunction,
  contract: oneOf("2025-11-25", "datalayer"),
  isErrorAs: oneOf("failed", "completed"),
  maskErrors: trueOrFalse,
  keepHeaders: listOfText,
  fallbackTools: trueOrFalse,
  fastPath: trueOrFalse,
  // By FirstRounds and ThreadPool.
  requestStateKey: anything,
  workerThreads: anything,
};

/** A task runtime and its binding to MCP servers. */
export interface Tasks {
  /** The engine itself, for who reads tasks without a client: a console, a command. */
  readonly runtime: TaskRuntime;

  /** Where subscriptions to these tasks begin. `serveHttp` and `serveStdio` serve `subscriptions/listen` with it. */
  readonly subscriptions: Subscriptions;

  /** Who may see a task. */
  readonly ownership: Ownership;

  /** Where to say what goes wrong. */
  readonly logger: Logger;

  /** What a verified token proves, by the rules of these tasks. */
  principalOf(authInfo: AuthInfo): Principal;

  /** Opens the store and takes up what an earlier process left. May be called again. */
  open(): Promise<void>;

  /** Takes nothing new, lets the work go on for a while if so asked, ends it, gives the store up. May be called again. */
  close(options?: CloseOptions): Promise<void>;

  /**
   * Takes a response that came in an HTTP request of its own, without a session, if it answers a question of one of the
   * sender's tasks; `false` when it does not. `serveHttp` calls it; so does whoever serves HTTP otherwise, before the
   * SDK's handler, which knows of no request that the response could answer.
   */
  takeAnswer(message: unknown, authInfo: AuthInfo | undefined): Promise<boolean>;

  /**
   * Serves the tasks methods on `server` and advertises them; `registerTool` does it as well. Call it before the
   * server connects; a second call changes nothing.
   *
   * @throws when the SDK, or somebody else, already serves one of the methods
   */
  bind(server: McpServer): void;

  /**
   * Registers a tool on `server`, as `McpServer.registerTool` does, that callers may also run as a task. Register the
   * same tool on every server of one `Tasks`: a task runs the handler that was registered last.
   *
   * @throws TypeError, RangeError for what is no option or cannot be its value, and when the handler is not what the tool's
   * runner takes; nothing is registered then
   */
  registerTool<
    Input extends StandardSchemaWithJSON | undefined = undefined,
    Output extends StandardSchemaWithJSON | undefined = undefined,
    Runner extends RunnerName = "async",
  >(
    server: McpServer,
    name: string,
    config: ToolConfig<Input, Output, Runner>,
    handler: RunnerHandlers<Input, Output>[Runner],
  ): RegisteredTool;
}

/**
 * Makes a task runtime and its binding to MCP servers. It must be opened before it takes a call; the `serve…` functions do.
 *
 * @throws TypeError, RangeError for what is no option, or cannot be its value
 */
export function createTasks(options: TasksOptions = {}): Tasks {
  checkOptions("createTasks", options, OPTIONS);
  return new BoundTasks(options);
}

class BoundTasks implements Tasks {
  readonly runtime: TaskRuntime;
  readonly subscriptions: Subscriptions;
  readonly #shared: Shared;
  readonly #runners: Runners;
  readonly #maskErrors: boolean;
  readonly #bindings = new WeakMap<McpServer, Binding>();

  constructor({
    ownership,
    principalOf,
    contract,
    isErrorAs,
    maskErrors,
    keepHeaders,
    fallbackTools,
    fastPath,
    requestStateKey,
    workerThreads,
    ...runtimeOptions
  }: TasksOptions) {
    this.runtime = new TaskRuntime(runtimeOptions satisfies TaskRuntimeOptions);
    this.#maskErrors = maskErrors ?? false;
    this.#runners = new Runners({
      clock: runtimeOptions.clock ?? systemClock,
      logger: runtimeOptions.logger ?? stderrLogger,
      cancelGraceMs: this.runtime.cancelGraceMs,
      workerThreads: workerThreads ?? {},
    });
    this.#shared = {
      runtime: this.runtime,
      identity: { ownership: ownership ?? "session", principalOf: principalOf ?? defaultPrincipalOf },
      contract: contract ?? "2025-11-25",
      isErrorAs: isErrorAs ?? "failed",
      keepHeaders: keepHeaders ?? [],
      logger: runtimeOptions.logger ?? stderrLogger,
      fallbackTools: fallbackTools ?? false,
      fastPath: fastPath ?? true,
      clock: runtimeOptions.clock ?? systemClock,
      firstRounds: new FirstRounds(requestStateKey),
      parkedCalls: new ParkedCalls(),
      deliveries: new Deliveries(this.runtime),
    };
    const { runtime, identity, logger } = this.#shared;
    const atOtherEndOf = (server: unknown) => this.#bindings.get(server as McpServer)?.peer ?? null;
    this.subscriptions = new Subscriptions({ runtime, logger, identity, atOtherEndOf });
  }

  get ownership(): Ownership {
    return this.#shared.identity.ownership;
  }

  get logger(): Logger {
    return this.#shared.logger;
  }

  principalOf(authInfo: AuthInfo): Principal {
    return this.#shared.identity.principalOf(authInfo);
  }

  async takeAnswer(message: unknown, authInfo: AuthInfo | undefined): Promise<boolean> {
    const answer = asAnswer(message);
    if (answer === undefined) return false;
    const identity = identify({ authInfo, sessionId: undefined }, this.#shared.identity);
    if (identity !== null) await takeAnswer(this.#shared, identity.owner, answer);
    return true;
  }

  open(): Promise<void> {
    this.#runners.open();
    return this.runtime.open();
  }

  async close(options?: CloseOptions): Promise<void> {
    try {
      await this.runtime.close(options);
    } finally {
      await this.#runners.close();
    }
  }

  bind(server: McpServer): void {
    this.#bindingOf(server);
  }

  registerTool<
    Input extends StandardSchemaWithJSON | undefined = undefined,
    Output extends StandardSchemaWithJSON | undefined = undefined,
    Runner extends RunnerName = "async",
  >(
    server: McpServer,
    name: string,
    config: ToolConfig<Input, Output, Runner>,
    handler: RunnerHandlers<Input, Output>[Runner],
  ): RegisteredTool {
    checkTool(name, config);
    checkPromotion(name, config as AnyToolConfig, this.#shared.fallbackTools);
    const run = this.#runners.handler(name, config as AnyToolConfig, handler);
    const runnable = this.#runners.withResume(name, config as AnyToolConfig);
    const binding = this.#bindingOf(server);
    const tool = new Tool(name, runnable, run, {
      maskErrors: this.#maskErrors,
      logger: this.#shared.logger,
    });
    const shown = shownConfig(config as AnyToolConfig);
    const registered = registerOnSdk(binding, tool, tool.promotes ? promotable(shown) : shown);
    binding.add(tool, registered);
    if (tool.taskSupport !== "forbidden") {
      // registerTool drops the member, but lists what is set here.
      registered.execution = { taskSupport: tool.taskSupport };
      this.runtime.define(tool.definition());
    }
    return registered;
  }

  #bindingOf(server: McpServer): Binding {
    let binding = this.#bindings.get(server);
    if (binding === undefined) {
      checkServer(server);
      binding = new Binding(server, this.#shared);
      this.#bindings.set(server, binding);
    }
    return binding;
  }
}

/**
 * Of two copies of the SDK one does not know what the other keeps of a server: some requests would be answered, and others
 * with an internal error.
 */
function checkServer(server: unknown): void {
  if (server instanceof McpServer) return;
  const named = (server as object | null | undefined)?.constructor?.name;
  const what =
    named === "McpServer"
      ? "this one is of another copy of it. Install one alone (npm ls @modelcontextprotocol/server), and no links to folders that have theirs (npm install --install-links)."
      : "this is none.";
  throw new TypeError(`Tasks are served on an McpServer of @modelcontextprotocol/server; ${what}`);
}

/** The part of a tool's declaration that is the SDK's, and its clients'. */
function shownConfig(config: AnyToolConfig): ShownConfig {
  const {
    execution,
    immediateResponse,
    recovery,
    maxRunMs,
    ttl,
    pollInterval,
    cancelGraceMs,
    inlineMs,
    promoteAfterMs,
    askFirst,
    ...shown
  } = config;
  return shown;
}

function registerOnSdk(binding: Binding, tool: Tool, shown: ShownConfig): RegisteredTool {
  // The SDK calls back with (args, context), or with (context) alone where there is no schema.
  const callback = (...args: unknown[]) => runCall(binding, tool, args.length > 1 ? args[0] : {}, args.at(-1) as never);
  return binding.mcp.registerTool(tool.name, shown as object, callback as ToolCallback<undefined>);
}
