/** The command line: its commands and options, and the manual that `--help` is. */
import { readFileSync } from "node:fs";
import { Command, InvalidArgumentError, Option } from "commander";
import type { Host } from "./host.js";
import { CONTRACTS, DEFAULT_GRACE_S, DEFAULT_HOST, DEFAULT_PORT, type JupyterFlags } from "./jupyter-settings.js";
import { LOG_LEVELS } from "./log.js";

/** What each command does once its line has been read. */
export interface Actions {
  jupyter(flags: JupyterFlags): Promise<void>;
}

/** The program; it throws commander's errors instead of ending the process. */
export function createProgram(actions: Actions, host: Pick<Host, "stdout" | "stderr">): Command {
  const program = new Command("claimcheck")
    .description("Call now, collect later: MCP servers whose long tool calls are tasks.")
    .version(version(), "-V, --version", "print the version")
    .helpOption("-h, --help", "show this text")
    .addHelpText("afterAll", EXIT_CODES)
    .showHelpAfterError("(claimcheck --help shows every command)")
    .configureOutput({
      writeOut: (text) => void host.stdout.write(text),
      writeErr: (text) => void host.stderr.write(text),
      outputError: (text, write) => write(withoutSecrets(text.replace(/^error:/, "claimcheck:"))),
    })
    .exitOverride();
  // After what it inherits has been set: a subcommand copies its parent's settings when it is added.
  addJupyter(program, actions);
  return program;
}

/**
 * Commander quotes what it does not understand: an option that nobody knows with its value, which may be a password, and what
 * stands where it should not, which may be a store's address.
 */
function withoutSecrets(text: string): string {
  return text.replace(/unknown option '([^'=]*)=.*'/s, "unknown option '$1'").replace(/:\/\/.*@/gs, "://***@");
}

function addJupyter(program: Command, actions: Actions): void {
  program
    .command("jupyter")
    .summary("serve notebooks and kernels to an agent")
    .description(JUPYTER)
    .helpOption("-h, --help", "show this text")
    .showHelpAfterError("(claimcheck jupyter --help shows every option)")
    .addOption(
      new Option("--jupyter-url <url>", "the Jupyter Server to work on (env: JUPYTER_URL; default: a private one)"),
    )
    .addOption(new Option("--token <token>", "that server's token (env: JUPYTER_TOKEN)"))
    .addOption(
      new Option("--root <folder>", "the folder of the notebooks, for a private server (default: this folder)"),
    )
    .addOption(
      new Option("--notebook <path>", "the notebook that execute_cell means when a call names none (env: DOCUMENT_ID)"),
    )
    .addOption(new Option("--store <store>", `where tasks live: ${STORES}`))
    .addOption(
      new Option(
        "--contract <name>",
        "what clients of 2025 that declare no extension get (default: datalayer)",
      ).choices(CONTRACTS),
    )
    .addOption(new Option("--http", "serve Streamable HTTP instead of stdio"))
    .addOption(
      new Option("--port <n>", `port for HTTP; 0 takes any free one (default: ${DEFAULT_PORT})`).argParser(port),
    )
    .addOption(new Option("--host <address>", `address to listen on (default: ${DEFAULT_HOST})`))
    .addOption(
      new Option(
        "--mcp-token <token>",
        "what clients must send as bearer token (env: MCP_TOKEN; default: a new one, printed)",
      ),
    )
    .addOption(new Option("--issuer <url>", "serve whoever has a JWT of this authorization server; needs --jwks"))
    .addOption(new Option("--jwks <url>", "where that server publishes its keys"))
    .addOption(
      new Option("--resource <url>", "the URL by which clients know this server (default: what it listens on)"),
    )
    .addOption(new Option("--audience <name...>", "what JWTs have to say in aud (default: the resource)"))
    .addOption(
      new Option(
        "--scope <method=scope...>",
        "scopes that a JWT needs, by method: *=mcp tools/call=tools:run tasks/*=tasks:read",
      ),
    )
    .addOption(new Option("--no-auth", "serve everybody who reaches the port"))
    .addOption(
      new Option("--allow-host <name...>", "further names that clients may call this server by (default: loopback's)"),
    )
    .addOption(
      new Option(
        "--allow-origin <name...>",
        "further hosts whose web pages may call this server (default: loopback's)",
      ),
    )
    .addOption(new Option("--grace <seconds>", `time to end in order (default: ${DEFAULT_GRACE_S})`).argParser(seconds))
    .addOption(new Option("--log-level <level>", "what is logged to stderr (default: warn)").choices(LOG_LEVELS))
    .addHelpText("after", JUPYTER_NOTES)
    .action((flags: JupyterFlags) => actions.jupyter(flags));
}

function version(): string {
  return JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8")).version;
}

function port(text: string): number {
  const value = Number(text);
  if (!/^\d+$/.test(text) || value > 65_535)
    throw new InvalidArgumentError("A port is a whole number from 0 to 65535.");
  return value;
}

function seconds(text: string): number {
  const value = Number(text);
  if (text.trim() === "" || !Number.isFinite(value) || value <= 0 || value > 3600) {
    throw new InvalidArgumentError("It is a number of seconds above 0, at most 3600.");
  }
  return value;
}

const STORES =
  "memory, sqlite:FILE, postgres://…, redis://…, valkey://…, or MODULE:CLASS for one of your own " +
  "(env: JUPYTER_MCP_TASK_STORE_CLASS; default: a SQLite file in $XDG_STATE_HOME/claimcheck or ~/.local/state/claimcheck, which survives a restart)";

const JUPYTER =
  "Serves notebooks and kernels to an agent. A cell that takes minutes is called as a task: its claim check comes back " +
  "at once, and its output is kept until somebody collects it.";

const JUPYTER_NOTES = `
On stdio (the default) the server speaks with the client that started it and ends with it; stdout carries the
protocol and nothing else. With --http it serves on a port and prints its URL, and its token unless one is given.
With --contract 2025-11-25, tasks/result waits for the end of a task; with datalayer, the default, it is refused while
the task is working, and clients poll tasks/get. A client that declares io.datalayer/tasks gets that contract anyway.
The texts "None" and "null" and the empty one count as not set, in flags and in the environment.

Examples:
  claimcheck jupyter
  claimcheck jupyter --jupyter-url http://localhost:8888 --token SECRET
  claimcheck jupyter --http --port 4040
  claimcheck jupyter --http --host 0.0.0.0 --allow-host mcp.example --resource https://mcp.example/mcp \\
    --issuer https://id.example --jwks https://id.example/keys
  claimcheck jupyter --store memory`;

const EXIT_CODES = `
Exit codes:
  0    ended in order: the client closed stdin, or SIGINT, SIGTERM or SIGHUP asked for it
  1    something broke while serving, or would not end within the grace period
  2    the command line is wrong
  3    the store, the port or the working folder cannot be had, or the Jupyter Server's URL is none; nothing was served
  128+ a second signal ended it at once`;
