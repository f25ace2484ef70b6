/** Looks for a Jupyter Server that is installed on this machine already. */
import { existsSync } from "node:fs";
import { isAbsolute, join } from "node:path";
import { PrivateServerError } from "./errors.js";
import { runCommand } from "./run.js";

/** The WebSocket protocol, the REST interface and the options that we use are those of version 2. */
const MINIMUM_MAJOR = 2;
/** A cold start imports some hundred modules. */
const VERIFY_TIMEOUT_MS = 20_000;

/** A way to start a Jupyter Server, verified. */
export interface JupyterCommand {
  /** Without arguments: `["/usr/bin/python3", "-m", "jupyter_server"]`. */
  command: readonly string[];
  version: string;
}

/**
 * The first of these that is a Jupyter Server of version 2 or later and has a kernel to start: `$JUPYTER_PYTHON`, the
 * active virtual or conda environment, `jupyter-server`, `python3`, `python` and `py` on the path. Undefined if none is.
 * @throws PrivateServerError `no_python` when `$JUPYTER_PYTHON` is set and is none: it was asked for by name
 */
export async function findJupyter(env: NodeJS.ProcessEnv = process.env): Promise<JupyterCommand | undefined> {
  if (env.JUPYTER_PYTHON) return await verifyNamed(env.JUPYTER_PYTHON, env);
  for (const candidate of candidates(env)) {
    const version = await serverVersion(candidate, env);
    if (version !== undefined) return { command: candidate, version };
  }
  return undefined;
}

async function verifyNamed(python: string, env: NodeJS.ProcessEnv): Promise<JupyterCommand> {
  const command = moduleCommand(python);
  const version = await serverVersion(command, env);
  if (version !== undefined) return { command, version };
  if (isAbsolute(python) && !existsSync(python)) {
    throw new PrivateServerError(
      "no_python",
      `JUPYTER_PYTHON is ${python}, and there is no such file. Give the path of a Python that has jupyter_server and ` +
        "ipykernel, or unset JUPYTER_PYTHON.",
    );
  }
  throw new PrivateServerError(
    "no_python",
    `JUPYTER_PYTHON is ${python}, which has no jupyter_server ${MINIMUM_MAJOR} or newer with ipykernel. ` +
      `Install them (${python} -m pip install jupyter_server ipykernel), or unset JUPYTER_PYTHON.`,
  );
}

function candidates(env: NodeJS.ProcessEnv): string[][] {
  const active = [env.VIRTUAL_ENV, env.CONDA_PREFIX].filter((prefix) => prefix !== undefined && prefix !== "");
  return [
    ...active.map((prefix) => moduleCommand(pythonOf(prefix ?? ""))),
    ["jupyter-server"],
    ...["python3", "python", "py"].map(moduleCommand),
  ];
}

function pythonOf(prefix: string): string {
  return process.platform === "win32" ? join(prefix, "python.exe") : join(prefix, "bin", "python");
}

function moduleCommand(python: string): string[] {
  return [python, "-m", "jupyter_server"];
}

/** Undefined unless it is a version that will do, and has kernels: a server without any fails at the first cell. */
async function serverVersion(command: readonly string[], env: NodeJS.ProcessEnv): Promise<string | undefined> {
  const answer = await describe(command, env);
  const major = Number(/^\d+/.exec(answer)?.[0]);
  return major >= MINIMUM_MAJOR && answer.includes('"language":') ? answer.split("\n")[0] : undefined;
}

/** The version in the first line, then the kernelspecs. */
async function describe(command: readonly string[], env: NodeJS.ProcessEnv): Promise<string> {
  const [program = "", ...module] = command;
  if (module.length > 0) return await outputOf([program, "-c", SELF_DESCRIPTION], env);
  const version = await outputOf([program, "--version"], env);
  return version === "" ? "" : `${version}\n${await outputOf(["jupyter-kernelspec", "list", "--json"], env)}`;
}

/** Asks the packages and not the server, whose start takes ten times as long. */
const SELF_DESCRIPTION = `
import importlib.metadata, importlib.util, json
assert importlib.util.find_spec("jupyter_server")
print(importlib.metadata.version("jupyter_server"))
from jupyter_client.kernelspec import KernelSpecManager
print(json.dumps([{"language": spec["spec"]["language"]} for spec in KernelSpecManager().get_all_specs().values()]))
`;

async function outputOf(command: readonly string[], env: NodeJS.ProcessEnv): Promise<string> {
  const { exitCode, output } = await runCommand(command, { timeoutMs: VERIFY_TIMEOUT_MS, env });
  return exitCode === 0 ? output : "";
}
