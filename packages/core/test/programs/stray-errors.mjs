/** Leaves errors behind in the way that its argument names, and says on stdout what became of the task. */
import { EventEmitter } from "node:events";
import { TaskRuntime } from "@claimcheck/core";

const done = { kind: "result", result: {} };
const endless = new Promise(() => {});
const error = () => new Error("left behind");

const runtime = new TaskRuntime({ cancelGraceMs: 10 });
const keepAlive = setInterval(() => {}, 1000);

async function runTask(work) {
  runtime.define({ name: "work", handler: (_args, context) => work(context) });
  const { task } = await runtime.create({ owner: "alice", toolName: "work", arguments: {} });
  return runtime.wait("alice", task.taskId);
}

/** Leaves an error behind while the handler goes on. */
function leaving(leave) {
  return (context) => {
    context.task?.recordOutput(["half"]);
    leave();
    return endless;
  };
}

function emit() {
  const emitter = new EventEmitter();
  setImmediate(() => emitter.emit("error", error()));
}

const throwIn = (thrown) => {
  throw thrown;
};

async function say(said) {
  process.stdout.write(`${JSON.stringify(await said)}\n`);
  await runtime.close();
  clearInterval(keepAlive);
}

/** What is left behind comes before this. */
const aWhile = () => new Promise((resolve) => setTimeout(resolve, 50));

async function afterItsEnd() {
  const task = await runTask(() => {
    setTimeout(() => throwIn(error()), 10);
    setTimeout(() => void Promise.reject(error()), 10);
    return done;
  });
  await aWhile();
  return runtime.get("alice", task.taskId);
}

async function everyWay() {
  const statuses = [];
  statuses.push((await runTask(() => throwIn(error()))).status);
  statuses.push((await runTask(() => Promise.reject(undefined))).status);
  statuses.push((await runTask(leaving(() => void Promise.reject(error())))).status);
  statuses.push(await cancelled());
  statuses.push((await afterItsEnd()).status);
  return statuses;
}

/** Throws once it is told to stop, and again later. */
async function cancelled() {
  const ended = runTask(async (context) => {
    await context.cancelToken.wait();
    setTimeout(() => throwIn(error()), 5);
    throw error();
  });
  await aWhile();
  const [task] = (await runtime.list("alice", { limit: 1 })).tasks;
  await runtime.cancel("alice", task?.taskId ?? "");
  await aWhile();
  return (await ended).status;
}

async function strangerThenTask() {
  void Promise.reject(new Error("not ours"));
  await aWhile();
  return runTask(leaving(() => setTimeout(() => throwIn(error()))));
}

function ownListener() {
  process.on("uncaughtException", (thrown) => {
    process.stdout.write(`mine: ${thrown.message}\n`);
    process.exit(0);
  });
  setTimeout(() => throwIn(new Error("not ours")));
}

const SCENARIOS = {
  "running-timer": () => void say(runTask(leaving(() => setTimeout(() => throwIn(error()))))),
  "running-immediate": () => void say(runTask(leaving(() => setImmediate(() => throwIn(error()))))),
  "running-rejection": () => void say(runTask(leaving(() => void Promise.reject(error())))),
  "running-emitter": () => void say(runTask(leaving(emit))),
  ended: () => void say(afterItsEnd()),
  "every-way": () => void say(everyWay()),
  "stranger-timer": () => setTimeout(() => throwIn(new Error("not ours"))),
  "stranger-rejection": () => void Promise.reject(new Error("not ours")),
  "stranger-then-task": () => void say(strangerThenTask()),
  "own-listener": ownListener,
};

const scenario = process.argv[2] ?? "";
if (scenario.startsWith("native-")) SCENARIOS[scenario.replace("native", "stranger")]?.();
else {
  await runtime.open();
  SCENARIOS[scenario]?.();
}
