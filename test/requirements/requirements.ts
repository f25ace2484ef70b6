/**
 * What servers of tasks must do, one entry a rule: every MUST and MUST NOT for servers in both specifications of tasks,
 * the SHOULDs that clients lean on, and the rules of the two pages on tasks that this project grew from. A check of the
 * same id in `checks/` runs over every transport and in every dialect that an entry does not except.
 */
import type { DialectName } from "../protocol/client.js";
import type { TransportName } from "../protocol/serving.js";

export interface Requirement {
  /** The section that says it. */
  source: string;
  /** In our own words. */
  rule: string;
  dialects: readonly DialectName[];
  /** Where it does not apply, and why. */
  except: Partial<Record<TransportName | DialectName, string>>;
  /** Checks of the official conformance suite that stand for the same rule. */
  suite: readonly string[];
}

type Details = Partial<Pick<Requirement, "except" | "suite">>;

function document(name: string, dialects: readonly DialectName[]) {
  return (section: string, rule: string, { except = {}, suite = [] }: Details = {}): Requirement => ({
    source: `${name}#${section}`,
    rule,
    dialects,
    except,
    suite,
  });
}

const SPEC = "https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities";
/** The shapes of 2025-11-25 are also those of our own contract, which departs from it where the page it comes from does. */
const core = document(`${SPEC}/tasks`, ["2025-11-25", "io.datalayer/tasks"]);
const progress = document(`${SPEC}/progress`, ["2025-11-25", "io.datalayer/tasks"]);
const extension = document(
  "https://github.com/modelcontextprotocol/ext-tasks/blob/main/specification/2026-07-28/tasks.md",
  ["2026-07-28"],
);
const sep2663 = document("https://modelcontextprotocol.io/seps/2663-tasks-extension", ["2026-07-28"]);
const sep2243 = document("https://modelcontextprotocol.io/seps/2243-http-standardization", ["2026-07-28"]);
/** The page on tasks of datalayer's jupyter-mcp-server. */
const jupyter = document("jupyter-mcp-server: Tasks", ["io.datalayer/tasks"]);
/** The page on tasks of pymcp-kit. */
const pymcp = document("pymcp-kit: Tasks", ["2025-11-25"]);
/** Rules of those pages that no client can see: checked once, on the library. */
const library = document("jupyter-mcp-server: Tasks", []);

const NO_STREAM = "a request that stands alone leaves no stream open for what comes later";
const NO_HEADERS = "only HTTP has headers";
const NO_AUTH = "stdio has no authorization: the process serves the client that started it";
const ONE_CONNECTION = "a process serves one connection, so that no other could ask";
const JUPYTER_DIFFERS = "the page that this contract comes from says otherwise; its own entry has it";
const OVER_HTTP = { "in memory": NO_HEADERS, stdio: NO_HEADERS };

export const REQUIREMENTS = {
  // 2025-11-25
  "core/capability-declared": core(
    "capabilities",
    "A server that runs calls as tasks says so when a client initializes.",
  ),
  "core/undeclared-request-ignores-task": core(
    "task-support-and-handling",
    "A request of a kind that cannot be a task is served normally; task metadata on it is ignored.",
  ),
  "core/forbidden-tool-as-task": core(
    "tool-level-negotiation",
    "A tool that cannot be a task, called as one, is refused with -32601.",
  ),
  "core/required-tool-without-task": core(
    "tool-level-negotiation",
    "A tool that must be a task, called as none, is refused with -32601.",
  ),
  "core/task-support-listed": core("tool-level-negotiation", "tools/list says of each tool whether it can be a task."),
  "core/id-is-string": core("task-id-requirements", "A task's id is a string."),
  "core/id-is-servers": core(
    "task-id-requirements",
    "The server makes the id; one that the client sends is not taken.",
  ),
  "core/id-is-unique": core("task-id-requirements", "No two tasks have one id."),
  "core/begins-working": core("task-status-lifecycle", "A task begins as working."),
  "core/valid-transitions": core(
    "task-status-lifecycle",
    "A task moves from working to input_required and back, and from either to an end.",
  ),
  "core/end-is-final": core("task-status-lifecycle", "A task that has ended moves no more."),
  "core/input-required-when-asking": core(
    "input-required-status",
    "A task that needs something of the client is input_required, and works again once it has it.",
  ),
  "core/question-names-its-task": core(
    "input-required-status",
    "A request that a task makes of the client carries related-task metadata.",
  ),
  "core/created-at": core(
    "ttl-and-resource-management",
    "Every answer with a task says when it was created, in ISO 8601.",
  ),
  "core/last-updated-at": core(
    "ttl-and-resource-management",
    "Every answer with a task says when it last changed, in ISO 8601.",
  ),
  "core/actual-ttl": core(
    "ttl-and-resource-management",
    "tasks/get says the ttl that is in force, not the one asked for.",
  ),
  "core/create-task-result": core(
    "result-retrieval",
    "A call that becomes a task is answered with the task, not its output.",
  ),
  "core/result-at-the-end": core(
    "result-retrieval",
    "tasks/result of a task that has ended answers what the call came to: its result or its error.",
  ),
  "core/result-blocks": core("result-retrieval", "tasks/result of a task that has not ended waits until it has.", {
    except: { "io.datalayer/tasks": JUPYTER_DIFFERS },
  }),
  "core/result-as-direct": core(
    "result-retrieval",
    "tasks/result answers exactly what the call would have answered without a task.",
    { except: { "io.datalayer/tasks": JUPYTER_DIFFERS } },
  ),
  "core/messages-name-their-task": core(
    "associating-task-related-messages",
    "Every request, notification and response about a task carries its id as related-task metadata.",
    { except: { "HTTP without sessions": NO_STREAM } },
  ),
  "core/result-names-its-task": core(
    "related-task-metadata",
    "What tasks/result answers carries the task's id as related-task metadata.",
  ),
  "core/parameter-is-the-truth": core(
    "associating-task-related-messages",
    "The task of get, result and cancel is the one of the taskId parameter, whatever related-task metadata says.",
  ),
  "core/answers-without-related-task": core(
    "associating-task-related-messages",
    "What get, list and cancel answer carries no related-task metadata.",
  ),
  "core/status-notification": core(
    "task-notifications",
    "A status notification carries the whole task, and no related-task metadata.",
    { except: { "HTTP without sessions": NO_STREAM } },
  ),
  "core/next-cursor": core("task-listing", "A listing that has more carries nextCursor."),
  "core/list-has-what-get-has": core("task-listing", "Whatever tasks/get answers to a client, tasks/list shows it."),
  "core/cancel-ended": core("task-cancellation", "Cancelling a task that has ended is refused with -32602.", {
    except: { "io.datalayer/tasks": JUPYTER_DIFFERS },
  }),
  "core/cancelled-before-the-answer": core(
    "task-cancellation",
    "The task is cancelled before tasks/cancel is answered.",
  ),
  "core/cancelled-stays": core("task-cancellation", "A cancelled task stays so, whatever the work still comes to."),
  "core/unknown-id": core("protocol-errors", "An id that is none is answered with -32602 by get, result and cancel."),
  "core/unknown-cursor": core("protocol-errors", "A cursor that is none is answered with -32602."),
  "core/internal-error": core("protocol-errors", "An internal error is answered with -32603."),
  "core/error-result-is-failure": core("task-execution-errors", "A call whose result says isError is a failed task.", {
    except: { "io.datalayer/tasks": JUPYTER_DIFFERS },
  }),
  "core/failure-says-why": core("task-execution-errors", "A failed task says why in its status message."),
  "core/error-is-the-calls": core("task-execution-errors", "tasks/result of a call that raised raises the same error."),
  "core/result-is-the-calls": core(
    "task-execution-errors",
    "tasks/result of a call that had a result answers that result, also one that says isError.",
  ),
  "core/bound-to-authorization": core(
    "task-isolation-and-access-control",
    "A task belongs to the authorization it was made under: get, result and cancel of anybody else are refused.",
    { except: { stdio: NO_AUTH } },
  ),
  "core/list-bound-to-authorization": core(
    "task-isolation-and-access-control",
    "tasks/list shows the tasks of the client's own authorization only.",
    { except: { stdio: NO_AUTH } },
  ),
  "core/id-cannot-be-guessed": core(
    "task-isolation-and-access-control",
    "Ids are random, with too much in them to be guessed.",
  ),
  "core/max-ttl": core("resource-management", "There is a longest ttl; asking for more gives that."),

  "progress/token-for-the-tasks-life": progress(
    "behavior-requirements",
    "Progress of a task carries the token of the call that made it, after the call was answered too.",
    { except: { "HTTP without sessions": NO_STREAM } },
  ),
  "progress/increases": progress("progress-flow", "Each progress is more than the one before.", {
    except: { "HTTP without sessions": NO_STREAM },
  }),
  "progress/only-known-tokens": progress(
    "behavior-requirements",
    "There is no progress for a call that gave no token.",
  ),
  "progress/stops-at-the-end": progress(
    "behavior-requirements",
    "Nothing is heard of progress once the task has ended.",
    {
      except: { "HTTP without sessions": NO_STREAM },
    },
  ),

  // 2026-07-28
  "extension/declared": extension(
    "capability-negotiation",
    "server/discover has the extension, its value an empty object.",
  ),
  "extension/no-task-undeclared": extension(
    "capability-negotiation",
    "A request that does not declare the extension is never answered with a task, whatever earlier ones declared.",
    { suite: ["sep-2663-server-rejects-undeclared-client"] },
  ),
  "extension/missing-capability": extension(
    "capability-negotiation",
    "A tool that must be a task, called without the extension, is refused with -32021 and the extension's name.",
    {
      suite: [
        "sep-2663-server-returns-missing-capability-when-required",
        "sep-2663-server-returns-missing-capability-data-shape",
      ],
    },
  ),
  "extension/result-type-task": extension("polymorphic-results", "A call answered with a task says resultType task.", {
    suite: ["sep-2663-result-type-task-on-create"],
  }),
  "extension/no-result-type-task-elsewhere": extension("polymorphic-results", "No other result says resultType task.", {
    suite: ["sep-2663-no-task-result-type-on-others"],
  }),
  "extension/times-and-intervals": extension(
    "tasks-1",
    "A task has ISO 8601 times, ttlMs that is null or an integer, and an integer pollIntervalMs.",
  ),
  "extension/failed-means-json-rpc-error": extension(
    "task-status",
    "A task is failed for a JSON-RPC error and for nothing else: a tool's error is a completed task's.",
    { suite: ["sep-2663-failed-status-jsonrpc-only", "sep-2663-tool-error-uses-completed-status"] },
  ),
  "extension/durable-before-the-answer": extension(
    "task-creation",
    "When the claim check is out, tasks/get finds the task, from another connection as well.",
    { suite: ["sep-2663-durable-create-strong-consistency"] },
  ),
  "extension/rounds-before-the-task": extension(
    "task-creation",
    "What a tool asks before it begins is asked in rounds of the call; only the last is answered with a task.",
    { suite: ["sep-2663-mrtr-synchronous-before-task-creation"] },
  ),
  "extension/get-working": extension("task-polling", "tasks/get of a working task says so, without result or error.", {
    suite: ["sep-2663-tasks-get-status-working"],
  }),
  "extension/get-input-required": extension(
    "task-polling",
    "tasks/get of a task that waits for input carries every outstanding request.",
    { suite: ["sep-2663-tasks-get-status-input-required"] },
  ),
  "extension/get-completed": extension("task-polling", "tasks/get of a completed task carries the final result.", {
    suite: ["sep-2663-tasks-get-status-completed"],
  }),
  "extension/get-cancelled": extension("task-polling", "tasks/get of a cancelled task says so.", {
    suite: ["sep-2663-tasks-get-status-cancelled"],
  }),
  "extension/get-failed": extension(
    "task-polling",
    "tasks/get of a failed task carries the JSON-RPC error, and says why in its status message.",
    { suite: ["sep-2663-tasks-get-status-failed", "sep-2663-failed-includes-statusmessage"] },
  ),
  "extension/get-result-type": extension("task-polling", "What tasks/get answers says resultType complete.", {
    suite: ["sep-2663-result-type-complete-on-tasks-get"],
  }),
  "extension/keys-are-unique": extension(
    "task-update-requests",
    "Over a task's life no key stands for two requests, also when the first has been answered.",
    { suite: ["sep-2663-input-request-key-unique-per-task", "sep-2663-no-key-reuse-after-response"] },
  ),
  "extension/update-acknowledged": extension(
    "task-update-requests",
    "tasks/update is answered with nothing but resultType complete.",
    {
      suite: ["sep-2663-update-ack-empty-result", "sep-2663-result-type-complete-on-tasks-update"],
    },
  ),
  "extension/update-ignores-other-keys": extension(
    "task-update-requests",
    "Answers to keys that were never given out, or are answered already, are ignored.",
    { suite: ["sep-2663-update-ignore-unknown-keys"] },
  ),
  "extension/update-in-part": extension(
    "task-update-requests",
    "A task of which some requests are answered waits for the others.",
  ),
  "extension/cancel-acknowledged": extension(
    "task-cancellation",
    "tasks/cancel is answered with nothing but resultType complete, of an ended task too.",
    {
      suite: ["sep-2663-cancel-ack-empty-result", "sep-2663-result-type-complete-on-tasks-cancel"],
    },
  ),
  "extension/cancelled-notification-cancels-no-task": extension(
    "task-cancellation",
    "notifications/cancelled of the call cancels no task.",
    { suite: ["sep-2663-cancel-not-via-cancelled-notification"] },
  ),
  "extension/methods-undeclared": extension(
    "protocol-errors",
    "get, update and cancel without the extension are refused with -32021, whether or not there is such a task.",
    { suite: ["sep-2663-tasks-methods-non-declaring"] },
  ),
  "extension/unknown-id": extension(
    "protocol-errors",
    "An id that is none is answered with -32602 by get, update and cancel.",
    {
      suite: [
        "sep-2663-tasks-get-invalid-task-id-32602",
        "sep-2663-tasks-update-cancel-invalid-task-id-32602",
        "sep-2663-update-error-unknown-task-id",
        "sep-2663-cancel-error-unknown-task-id",
      ],
    },
  ),
  "extension/internal-error": extension("protocol-errors", "An internal error is answered with -32603."),
  "extension/exactly-the-calls-outcome": extension(
    "task-execution-errors",
    "tasks/get carries exactly the result or the error that the call would have been answered with.",
  ),
  "extension/id-cannot-be-guessed": extension(
    "security-considerations",
    "Ids are random, with too much in them to be guessed.",
  ),
  "extension/bound-to-authorization": extension(
    "security-considerations",
    "Each request about a task is checked against whose it is.",
    { except: { stdio: NO_AUTH } },
  ),
  "extension/listen-undeclared": extension(
    "task-status-notifications",
    "Listening for tasks without the extension is refused with -32021 and the extension's name.",
    { suite: ["sep-2663-subscribe-missing-capability-non-declaring"] },
  ),
  "extension/listen-acknowledges": extension(
    "task-status-notifications",
    "The acknowledgement names the tasks that will be told of, and no others.",
  ),
  "extension/listen-tells-the-task": extension(
    "task-status-notifications",
    "Each notification carries the whole task, as tasks/get would have answered it at that moment.",
  ),
  "extension/listen-without-progress-or-messages": extension(
    "task-status-notifications",
    "Neither progress nor log messages of a task are sent, on that stream or on another.",
    { suite: ["sep-2663-no-progress-or-message-on-task-stream"] },
  ),
  "extension/matching-headers": extension(
    "streamable-http-routing-headers",
    "Mcp-Method and Mcp-Name that match the body change nothing.",
    { except: OVER_HTTP, suite: ["sep-2663-routing-headers-accepted-on-tasks-get"] },
  ),
  "extension/contradicting-headers": sep2243(
    "header-processing",
    "A request whose Mcp-Method or Mcp-Name is not the body's is refused, and does nothing.",
    { except: OVER_HTTP, suite: ["sep-2663-server-rejects-mismatched-mcp-name-on-tasks-get"] },
  ),
  "extension/no-list-no-result": sep2663("backward-compatibility", "tasks/list and tasks/result are -32601.", {
    suite: ["sep-2663-tasks-result-removed-method-not-found"],
  }),
  "extension/task-parameter-ignored": sep2663(
    "backward-compatibility",
    "The task parameter of earlier revisions means nothing.",
    {
      suite: ["sep-2663-legacy-task-param-ignored"],
    },
  ),
  "extension/no-legacy-capability": sep2663(
    "backward-compatibility",
    "capabilities.tasks is not advertised beside the extension.",
    {
      suite: ["sep-2663-migrate-from-legacy-capabilities"],
    },
  ),
  "extension/legacy-capability-declares-nothing": sep2663(
    "backward-compatibility",
    "A client that declares only the capability of earlier revisions has not declared the extension.",
    { suite: ["sep-2663-legacy-capability-treated-as-non-declaring"] },
  ),

  // jupyter-mcp-server
  "jupyter/only-when-asked": jupyter(
    "Nothing changes unless you ask",
    "Without task metadata a call runs as ever; `{}` is metadata.",
  ),
  "jupyter/claim-check": jupyter(
    "Nothing changes unless you ask",
    "The claim check is a working task with ttl and poll interval, given out at once.",
  ),
  "jupyter/retry-is-one-task": jupyter(
    "A retry is one task",
    "A call repeated under its key answers the task that is there.",
  ),
  "jupyter/key-of-another-call": jupyter(
    "A retry is one task",
    "A key on another call is refused; the order of arguments makes no other call.",
  ),
  "jupyter/key-lives-with-its-task": jupyter("A retry is one task", "Once a task has expired its key is free."),
  "jupyter/key-without-task": jupyter("A retry is one task", "A call that asks for no task is not deduplicated."),
  "jupyter/five-states": jupyter(
    "The five states",
    "A task is working, input_required, completed, failed or cancelled.",
  ),
  "jupyter/newest-first": jupyter("The four methods", "tasks/list shows the newest first."),
  "jupyter/no-update": jupyter("The four methods", "There is no tasks/update."),
  "jupyter/failure-raises": jupyter(
    "A failure is a failed task, not an empty one",
    "A tool that raised ends failed, and tasks/result raises.",
  ),
  "jupyter/working-is-refused": jupyter(
    "A failure is a failed task, not an empty one",
    "tasks/result of a working task is refused.",
  ),
  "jupyter/cancel-interrupts": jupyter(
    "Cancelling stops the work",
    "Cancelling interrupts the work, and answers the task.",
  ),
  "jupyter/cancel-twice": jupyter("The four methods", "Cancelling a task that has ended answers it as it is."),
  "jupyter/helpers-outside-a-task": jupyter(
    "Cancelling stops the work",
    "Outside a task, registering an interrupt and recording output answer false and do nothing.",
  ),
  "jupyter/cancelled-keeps-output": jupyter(
    "A cancelled task keeps what it produced",
    "What a cancelled task had recorded last is its result.",
  ),
  "jupyter/cancelled-without-output": jupyter(
    "A cancelled task keeps what it produced",
    "A cancelled task that produced nothing has no result, rather than an empty one.",
  ),
  "jupyter/own-result-wins": jupyter(
    "A cancelled task keeps what it produced",
    "A result that the tool returns while it is cancelled is not replaced by what was visible before.",
  ),
  "jupyter/failure-keeps-output": jupyter(
    "A cancelled task keeps what it produced",
    "What a failed task had recorded comes with what its result raises.",
  ),
  "jupyter/interrupt-that-fails": jupyter(
    "A cancelled task keeps what it produced",
    "An interrupt that fails does not stop the cancellation.",
  ),
  "jupyter/kept-for-its-ttl": jupyter(
    "Retention",
    "A finished task is there for its ttl, 15 minutes unless asked otherwise, 24 hours at most.",
  ),
  "jupyter/expired-is-unknown": jupyter("Retention", "An expired task is answered as one that never was."),
  "jupyter/running-never-expires": jupyter("Retention", "A task that runs outlives its ttl."),
  "jupyter/poll-interval": jupyter("Polling, and the notification", "Every working task says how often to poll."),
  "jupyter/notified-at-the-end": jupyter(
    "Polling, and the notification",
    "A notification says that a task has ended, with its status and without its result.",
    { except: { "HTTP without sessions": NO_STREAM } },
  ),
  "jupyter/extension-advertised": jupyter("An extension, for now", "The server advertises io.datalayer/tasks."),
  "jupyter/store-that-cannot-be-loaded": library(
    "Where tasks live",
    "A store that cannot be imported is a start that failed.",
  ),
  "jupyter/store-keeps-retention": library(
    "Where tasks live",
    "get and findByKey of a store both answer an expired task as absent.",
  ),
  "jupyter/claimed-methods": library(
    "An extension, for now",
    "The binding refuses to be made when somebody else serves tasks/*.",
  ),

  // pymcp-kit
  "pymcp/enabled-by-default": pymcp(
    "Tasks",
    "Tasks are on at the level of capabilities; each tool decides for itself.",
  ),
  "pymcp/optional": pymcp("Opt A Tool Into Tasks", "An optional tool runs directly or as a task."),
  "pymcp/required": pymcp("Opt A Tool Into Tasks", "A required tool runs as a task only."),
  "pymcp/forbidden": pymcp("Opt A Tool Into Tasks", "A forbidden tool runs directly only."),
  "pymcp/helpers": pymcp(
    "Injected Task Helpers",
    "A tool has its cancel token, its task and its request; a direct call has no task.",
  ),
  "pymcp/require-input": pymcp("Injected Task Helpers", "A tool says that it waits for a person, and that it goes on."),
  "pymcp/cooperative-cancel": pymcp("Injected Task Helpers", "The cancel token lets a tool stop by itself."),
  "pymcp/elicitation": pymcp(
    "Example: Progress, Cancellation, And Elicitation",
    "A tool in a task asks a person and goes on with the answer.",
  ),
  "pymcp/four-methods": pymcp("Task RPC Surface", "list, get, cancel and result are served."),
  "pymcp/status-notifications": pymcp("Task RPC Surface", "Status changes are notified.", {
    except: { "HTTP without sessions": NO_STREAM },
  }),
  "pymcp/progress-notifications": pymcp("Task RPC Surface", "Progress is notified.", {
    except: { "HTTP without sessions": NO_STREAM },
  }),
  "pymcp/structured-result": pymcp("Task RPC Surface", "A whole MCP result is preserved as the tool returned it."),
  "pymcp/session-without-auth": pymcp("Ownership And Access", "Without authentication a task is its session's.", {
    except: {
      stdio: ONE_CONNECTION,
      "HTTP without sessions": "without a session nobody owns a task: making one is refused",
    },
  }),
  "pymcp/principal-with-auth": pymcp(
    "Ownership And Access",
    "With authentication a task is its principal's, in every session of theirs, and nobody else's.",
    { except: { stdio: NO_AUTH } },
  ),
  "pymcp/not-negotiated": pymcp("Notes", "On a connection that negotiated no tasks, task metadata is ignored."),
} as const satisfies Record<string, Requirement>;

export type RequirementId = keyof typeof REQUIREMENTS;
