/**
 * What the Python toolkit pymcp-kit tests of its tasks, what it does not, and where it trips: each with the test that holds
 * it here.
 */
import { describe } from "vitest";
import { type Held, testsHold } from "./held.js";

const ITS_TESTS: readonly Held[] = [
  [
    "create, get, result",
    "wire/result",
    "tasks/result waits until the task is terminal, and answers the tool's output",
  ],
  [
    "metadata without negotiation",
    "wire/creation",
    "task metadata is ignored on a connection whose protocol revision has no tasks",
  ],
  [
    "one principal, two sessions",
    "wire/ownership",
    "the same principal can access its tasks across sessions, while a different one cannot",
  ],
  ["a structured result on both paths", "wire/both-paths", "a whole result"],
  ["an argument named task", "wire/creation", "an argument named task is not taken for metadata"],
  ["masking", "wire/both-paths", "masked, no word of an unexpected error reaches the client"],
  [
    "a waiter that waits in vain",
    "wire/result",
    "a waiter that hangs up, or cancels its request, leaves nothing behind",
  ],
  ["expiry", "wire/retention", "a finished task is kept for its ttl after it finished, and is then gone"],
  [
    "side messages on stdio",
    "stdio/serve.live",
    "progress and status lines arrive while tasks/result is pending, then the result",
  ],
  ["progress and its token", "wire/side-channel", "carries the caller's token %j, its type kept"],
];

const WHAT_IT_LACKS: readonly Held[] = [
  [
    "required and forbidden",
    "wire/creation",
    "a tool that has tasks %s, called with task %j, is refused with %i and does not run",
  ],
  ["cancelling", "wire/cancel", "tasks/cancel interrupts the work, then stops waiting for it"],
  [
    "input_required, by its client",
    "wire/questions-2025",
    "tasks/result at input_required stays open, carries the question once",
  ],
  ["input_required, by the task", "questions/task-questions", "requireInput and setWorking show without any question"],
  ["failures", "wire/result", "a tool that throws ends with exactly the isError result of the direct call"],
  ["ttl at its edges", "wire/creation", "ttl %j is refused with -32602, and nothing runs"],
  ["pagination", "wire/result", "tasks/list shows the tasks newest first, page by page"],
  ["task messages on SSE", "http/sessions", "sees its tasks' status and progress on its stream"],
  ["questions on SSE", "http/questions", "the stream of tasks/result carries the question"],
  [
    "the thread",
    "runners/worker.live",
    "is the same as on this event loop, directly and as a task, whatever it returns or throws",
  ],
  ["the subprocess", "runners/subprocess.live", "answers its stdout as text, the same directly and as a task"],
];

const ITS_TRAPS: readonly Held[] = [
  [
    "an unknown runner found when it runs",
    "runners/runners",
    "a wrong combination is refused, with the reason, and registers nothing",
  ],
  [
    "a thread that runs on once its task is cancelled",
    "runners/worker.live",
    "ends the thread of one that does not, after its grace",
  ],
  [
    "a child process that nothing kills",
    "runners/subprocess.live",
    "cancelling ends the whole tree, the deaf grandchild included",
  ],
  ["output lost with the exit code", "runners/subprocess.live", "is an error result with exit code, stderr and output"],
  ["output lost over its limit", "runners/subprocess.live", "keeps the limit with head and tail"],
  [
    "a time-out that each line renews",
    "runners/subprocess.live",
    "is stopped when its time is over, with what it had printed",
  ],
  ["task: {} runs synchronously", "wire/creation", "a task is created only when the request carries task metadata"],
  [
    "runner settings shown to clients",
    "wire/capabilities",
    "tools/list shows whether a tool runs as a task, and nothing of how it is run",
  ],
  [
    "ttl without a cap, negative ttl clamped",
    "wire/creation",
    "ttl %j is kept as %i, and what is echoed is what is kept",
  ],
  [
    "a ttl that ends running work",
    "wire/retention",
    "a finished task is kept for its ttl after it finished, and is then gone",
  ],
  [
    "errors masked on the direct path only",
    "wire/result",
    "masked, no text of an unexpected error reaches a client on either path",
  ],
  [
    "an owner made of a token's claims",
    "auth/jwt",
    "a refreshed token keeps its tasks and their keys, in its session and in a new one",
  ],
  ["a reconnect that loses the tasks", "wire/ownership", "a server for one person lets any connection collect"],
  ["an idle session whose tasks are lost", "http/sessions", "that has ended leaves its tasks"],
  [
    "related-task beside params",
    "wire/questions-2025",
    '_meta: { "io.modelcontextprotocol/related-task": { taskId } }',
  ],
  [
    "related-task beside result",
    "wire/result",
    "related-task metadata is on tasks/result, and absent on get, list and cancel",
  ],
  [
    "a cursor that moves under inserts",
    "wire/result",
    "a cursor shows every task that was there once, whatever is created between the pages",
  ],
  ["values of some kinds wrapped otherwise", "wire/both-paths", "%s is the same on both"],
  ["a failure that is not notified", "wire/side-channel", "is sent of a failure and of a cancellation too"],
  ["a progress token that nobody gave", "wire/side-channel", "none is sent without a token"],
  ["an answer that nobody checks", "wire/questions-2025", "is no person who declined: the tool is told"],
  [
    "a question to a client that cannot be asked",
    "wire/questions-2025",
    "a client that did not declare it is never asked",
  ],
  [
    "a question that only an open GET stream hears",
    "http/questions",
    "the stream of tasks/result carries the question",
  ],
  [
    "different words for an expired id",
    "wire/result",
    "unknown, expired and other people's ids get the same answer, word for word",
  ],
];

describe.each([
  ["its tests", ITS_TESTS],
  ["what it lacks", WHAT_IT_LACKS],
  ["its traps", ITS_TRAPS],
])("%s", (_group, rows) => testsHold(rows));
