/** The main job, step by step. Each step checks itself, and the story goes on when one differs. */
import { setTimeout as delay } from "node:timers/promises";
import { TaskClient } from "./client.js";
import * as screen from "./screen.js";
import type { RunningServer } from "./server.js";

const STEPS = 10;
const STEP_SECONDS = 0.6;
/** A claim check that takes longer than this was waited for. */
const AT_ONCE_MS = 2_000;
/** The first time, a Jupyter Server is installed before the first cell runs. */
const PATIENCE_MS = 10 * 60_000;
const LOOK_MS = 200;

/** Prints a line now and then, as training does. */
const CELL = `import time
for epoch in range(1, ${STEPS + 1}):
    print(f"epoch {epoch} of ${STEPS}", flush=True)
    time.sleep(${STEP_SECONDS})`;

const lineOf = (epoch: number) => `epoch ${epoch} of ${STEPS}`;

/** Tells the story on a server; answers how many of its expectations were not met. */
export async function tellStory(server: RunningServer): Promise<number> {
  const story = new Story(server);
  const taskId = await story.dropOff();
  await story.collect(taskId);
  await story.cancelHalfway();
  return story.differences;
}

class Story {
  differences = 0;
  readonly #server: RunningServer;

  constructor(server: RunningServer) {
    this.#server = server;
  }

  async dropOff(): Promise<string> {
    screen.step(1, `A cell that runs for ${Math.round(STEPS * STEP_SECONDS)} seconds is called as a task`);
    screen.quote(CELL);
    const client = await this.#connect("first-client");
    const startedAt = performance.now();
    const task = await client.callAsTask("execute_code", { code: CELL });
    const tookMs = Math.round(performance.now() - startedAt);
    screen.fact("claim check", task.taskId);
    this.#expect(
      task.status === "working" && tookMs < AT_ONCE_MS,
      `it came back after ${tookMs} ms, while the cell is ${task.status}`,
    );
    await client.disconnect();
    screen.done("the client has disconnected; the cell goes on");
    return task.taskId;
  }

  async collect(taskId: string): Promise<void> {
    screen.step(2, "Another client comes, watches, and collects the result");
    const client = await this.#connect("second-client");
    const status = await this.#watch(client, taskId, () => false);
    const result = await client.result(taskId);
    screen.quote(result);
    const lines = Array.from({ length: STEPS }, (_, index) => lineOf(index + 1)).join("\n");
    this.#expect(status === "completed" && result.includes(lines), `the task is ${status}, and no line is missing`);
    await client.disconnect();
  }

  async cancelHalfway(): Promise<void> {
    screen.step(3, "Such a cell is cancelled half-way, and what it printed is kept");
    const client = await this.#connect("third-client");
    const { taskId } = await client.callAsTask("execute_code", { code: CELL });
    screen.fact("claim check", taskId);
    await this.#watch(client, taskId, (epoch) => epoch >= STEPS / 2);
    const { status } = await client.cancel(taskId);
    const kept = await client.result(taskId);
    screen.quote(kept);
    const isHalf = kept.includes(lineOf(STEPS / 2)) && !kept.includes(lineOf(STEPS));
    this.#expect(status === "cancelled" && isHalf, `the task is ${status}, and its partial output was collected`);
    const startedAt = performance.now();
    const answer = await client.call("execute_code", { code: "print(6 * 7)" });
    const tookMs = Math.round(performance.now() - startedAt);
    this.#expect(
      answer.includes("42") && tookMs < AT_ONCE_MS,
      `the kernel has really stopped: it answers the next cell after ${tookMs} ms`,
    );
    await client.disconnect();
  }

  /** Follows a task until it has finished, or has come as far as is enough; answers its status. */
  async #watch(client: TaskClient, taskId: string, isEnough: (epoch: number) => boolean): Promise<string> {
    const bar = new screen.ProgressBar(STEPS);
    const deadline = performance.now() + PATIENCE_MS;
    try {
      while (performance.now() < deadline) {
        const { task, text } = await client.look(taskId);
        const epoch = task.status === "completed" ? STEPS : [...text.matchAll(/^epoch \d+/gm)].length;
        bar.show(epoch, task.statusMessage ?? task.status);
        if (task.status !== "working" || isEnough(epoch)) return task.status;
        await delay(LOOK_MS);
      }
    } finally {
      bar.end();
    }
    throw new Error(`the task was not where it should be after ${PATIENCE_MS / 1000} s`);
  }

  async #connect(name: string): Promise<TaskClient> {
    return await TaskClient.connect(name, this.#server);
  }

  #expect(isSo: boolean, what: string): void {
    if (isSo) screen.done(what);
    else screen.wrong(`differs from what was expected: ${what}`);
    if (!isSo) this.differences += 1;
  }
}
