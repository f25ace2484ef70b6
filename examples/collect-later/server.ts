/** The server of the story: the real command as a child process, with a private Jupyter Server of its own. */
import { type ChildProcess, spawn } from "node:child_process";
import { createServer } from "node:net";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../..", import.meta.url));

export interface RunningServer {
  url: string;
  token: string;
  /** Resolves with the exit code when the server has ended, of itself or because it was asked to. */
  ended: Promise<number | null>;
  /** Asks it to end in order. */
  stop(): Promise<void>;
}

/**
 * Starts `claimcheck jupyter --http` and waits until it serves.
 * @param onLine told what the server says, line by line, but for its token
 */
export async function startServer(port: number, onLine: (line: string) => void): Promise<RunningServer> {
  // In memory, so that nothing outlives the show: tasks that are to survive a restart keep their Jupyter Server and its kernels.
  const args = ["jupyter", "--http", "--port", `${port}`, "--store", "memory"];
  const command = [`${root}packages/cli/bin/claimcheck.js`, ...args];
  const child = spawn(process.execPath, command, {
    cwd: root,
    stdio: ["ignore", "inherit", "pipe"],
    env: privateEnvironment(),
    // A group of its own: Ctrl-C reaches the story alone, which then ends the server in order.
    detached: true,
  });
  const ended = new Promise<number | null>((resolve) => child.once("exit", resolve));
  // However the story ends, be it by an error in the middle: in its own group, the server would go on for ever.
  process.once("exit", () => child.kill("SIGTERM"));
  const { url, token } = await announcement(child, ended, onLine);
  return {
    url,
    token,
    ended,
    stop: async () => {
      child.kill("SIGTERM");
      await ended;
    },
  };
}

/** Whatever the reader has set up for his own server stays out of the story, and the story out of his folders. */
function privateEnvironment(): NodeJS.ProcessEnv {
  const { JUPYTER_URL, JUPYTER_TOKEN, JUPYTER_MCP_TASK_STORE_CLASS, MCP_TOKEN, ...env } = process.env;
  return { ...env, XDG_STATE_HOME: `${root}.cache/start` };
}

async function announcement(
  { stderr }: ChildProcess,
  ended: Promise<number | null>,
  onLine: (line: string) => void,
): Promise<{ url: string; token: string }> {
  if (stderr === null) throw new Error("the server's stderr is not a pipe");
  const found = { url: "", token: "" };
  const announced = new Promise<void>((resolve) => {
    createInterface({ input: stderr }).on("line", (line) => {
      const [, url] = /serving MCP on (\S+)/.exec(line) ?? [];
      const [, token] = /clients need the token (\S+)/.exec(line) ?? [];
      if (url !== undefined) found.url = url;
      if (token !== undefined) found.token = token;
      if (url === undefined && token === undefined) onLine(line);
      if (found.url !== "" && found.token !== "") resolve();
    });
  });
  const outcome = await Promise.race([announced.then(() => "announced" as const), ended]);
  if (outcome !== "announced") throw new Error(`the server ended with exit code ${outcome} before it served`);
  return found;
}

/** The port if it is free, else any. */
export async function freePort(wanted: number): Promise<number> {
  const server = createServer();
  return await new Promise((resolve) => {
    server.once("error", () => resolve(0));
    server.listen(wanted, "127.0.0.1", () => server.close(() => resolve(wanted)));
  });
}
