/**
 * What `npm start` shows: a cell is called as a task, its client leaves, another one collects the result, and a third
 * cancels such a cell and keeps what it printed. All of it is real: the command, a Jupyter Server, a kernel, clients.
 * With `--once` it ends there; else it keeps serving until Ctrl-C.
 */
import { parseArgs } from "node:util";
import { pointers } from "./pointers.js";
import * as screen from "./screen.js";
import { freePort, type RunningServer, startServer } from "./server.js";
import { tellStory } from "./story.js";

const USUAL_PORT = 4040;

async function main(): Promise<number> {
  const { values } = parseArgs({ options: { once: { type: "boolean", default: false }, port: { type: "string" } } });
  screen.title("Claimcheck: call now, collect later");
  const startedAt = performance.now();
  screen.aside("starting the server and a private Jupyter (the first time, it is installed)");
  const server = await startServer(Number(values.port ?? (await freePort(USUAL_PORT))), screen.aside);
  const interrupted = new Promise<"interrupted">((resolve) => {
    // SIGHUP: the terminal's window was closed.
    for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.once(signal, () => resolve("interrupted"));
  });
  try {
    screen.fact("serving", `${server.url}, after ${((performance.now() - startedAt) / 1000).toFixed(1)} s`);
    const differences = await Promise.race([tellStory(server), interrupted, diedEarly(server)]);
    if (differences === "interrupted") return 130;
    screen.title(
      differences === 0 ? "Every step went as it should." : `${differences} steps differed from what was expected.`,
    );
    if (values.once || differences > 0) return differences === 0 ? 0 : 1;
    return await keepServing(server, interrupted);
  } finally {
    await server.stop();
  }
}

async function keepServing(server: RunningServer, interrupted: Promise<unknown>): Promise<number> {
  pointers(server);
  screen.text("It keeps serving. Ctrl-C ends it.\n");
  await Promise.race([interrupted, diedEarly(server)]);
  screen.text("\n  ending in order …");
  return 0;
}

async function diedEarly(server: RunningServer): Promise<never> {
  throw new Error(`the server ended with exit code ${await server.ended}`);
}

process.exitCode = await main().catch((error: Error) => {
  screen.wrong(error.message);
  return 1;
});
