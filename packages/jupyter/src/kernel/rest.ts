/** The part of a Jupyter Server's REST interface that we use, typed. */
import { endpoint, type ServerAddress } from "./address.js";
import { JupyterError } from "./errors.js";
import { HttpClient, notJupyter } from "./http.js";

/** A running kernel. Servers before 2.15 flip `executionState` on any traffic: do not trust it for what runs. */
export interface KernelModel {
  id: string;
  /** The kernelspec's name. */
  name: string;
  /** ISO 8601. */
  lastActivity: string;
  executionState: string;
  /** How many WebSockets are open. */
  connections: number;
}

/** A kind of kernel that the server can start. */
export interface KernelSpec {
  name: string;
  displayName: string;
  language: string;
}

/** The kernelspecs of a server. */
export interface KernelSpecs {
  defaultName: string;
  specs: KernelSpec[];
}

/** A notebook, console or other document and the kernel that belongs to it. */
export interface SessionModel {
  id: string;
  path: string;
  type: string;
  /** Null once its kernel is gone. */
  kernel: KernelModel | null;
}

/** A file or folder. */
export interface ContentsModel {
  name: string;
  path: string;
  type: "notebook" | "file" | "directory";
  /** ISO 8601. */
  created: string;
  /** ISO 8601. */
  lastModified: string;
  writable: boolean;
  mimetype: string | null;
  format: string | null;
  size: number | null;
  /** A notebook's JSON, a file's text or base64, a folder's entries; null when it was not asked for. */
  content: unknown;
  /** Of the bytes on disk; absent where the server has no hashes (before 2.11) or none was asked for. */
  hash: string | null;
  hashAlgorithm: string | null;
  /** What the server says about content that it accepted but finds invalid; else null. */
  message: string | null;
}

/** Which kernel to start. */
export interface StartKernelOptions {
  /** Default: the server's default kernelspec. */
  kernelName?: string;
  /** The working directory, as an API path below the server's root. Default: the root. */
  path?: string;
}

/** Time-outs of a {@link JupyterRest}. */
export interface RestOptions {
  /** Of calls that only look things up or write small things. Default: 30 s. */
  timeoutMs?: number;
  /** Of calls that wait for a kernel to start, stop or restart, or carry a whole file. Default: 120 s. */
  longTimeoutMs?: number;
}

/** Every method rejects with a JupyterError. */
export class JupyterRest {
  readonly address: ServerAddress;
  readonly #http: HttpClient;
  readonly #timeoutMs: number;
  readonly #longTimeoutMs: number;

  constructor(address: ServerAddress, options: RestOptions = {}) {
    this.address = address;
    this.#http = new HttpClient(address);
    this.#timeoutMs = options.timeoutMs ?? 30_000;
    this.#longTimeoutMs = options.longTimeoutMs ?? 120_000;
  }

  async listKernelSpecs(): Promise<KernelSpecs> {
    const raw = asRecord(await this.#get(["api", "kernelspecs"], "list of kernelspecs"), "list of kernelspecs");
    const specs = Object.values(asRecord(raw.kernelspecs, "list of kernelspecs"));
    return { defaultName: text(raw.default), specs: specs.map(toKernelSpec) };
  }

  async startKernel(options: StartKernelOptions = {}): Promise<KernelModel> {
    const { kernelName, path } = options;
    const body = { ...(kernelName === undefined ? {} : { name: kernelName }), ...(path === undefined ? {} : { path }) };
    const subject = `a new kernel${kernelName === undefined ? "" : ` of kernelspec ${kernelName}`}`;
    return toKernel(await this.#long("POST", ["api", "kernels"], subject, body));
  }

  async listKernels(): Promise<KernelModel[]> {
    return asList(await this.#get(["api", "kernels"], "list of kernels"), "list of kernels").map(toKernel);
  }

  async getKernel(kernelId: string): Promise<KernelModel> {
    return toKernel(await this.#get(["api", "kernels", kernelId], `kernel ${kernelId}`));
  }

  /** Sends the interrupt. That the server accepted it does not mean that anything stopped. */
  async interruptKernel(kernelId: string, signal?: AbortSignal): Promise<void> {
    const path = ["api", "kernels", kernelId, "interrupt"];
    await this.#call("POST", path, `the interrupt of kernel ${kernelId}`, this.#timeoutMs, { body: {}, signal });
  }

  /** Resolves once the kernel runs anew. Requests that were under way are never answered. */
  async restartKernel(kernelId: string): Promise<KernelModel> {
    const path = ["api", "kernels", kernelId, "restart"];
    try {
      return toKernel(await this.#long("POST", path, `the restart of kernel ${kernelId}`, {}));
    } catch (error) {
      // The server answers 500 on a kernel that it does not have.
      if (JupyterError.is(error) && error.code === "server_error") await this.getKernel(kernelId);
      throw error;
    }
  }

  async deleteKernel(kernelId: string): Promise<void> {
    await this.#long("DELETE", ["api", "kernels", kernelId], `kernel ${kernelId}`);
  }

  async listSessions(): Promise<SessionModel[]> {
    return asList(await this.#get(["api", "sessions"], "list of sessions"), "list of sessions").map(toSession);
  }

  /**
   * The session of a notebook, or of another document of `type`: the one that exists, with the kernel that a person may have open, else a new one with a
   * new kernel, whose working directory is the notebook's.
   */
  async openSession(
    path: string,
    options: { kernelName?: string; name?: string; type?: "notebook" | "console" } = {},
  ): Promise<SessionModel> {
    const { kernelName, name = baseName(path), type = "notebook" } = options;
    const kernel = kernelName === undefined ? {} : { name: kernelName };
    const body = { path, type, name, kernel };
    return toSession(await this.#long("POST", ["api", "sessions"], `a session of ${path}`, body));
  }

  /**
   * A file or folder.
   * @param options.content default: true. @param options.hash asks for the hash; default: false.
   * @param options.type has a file read as a notebook that is none by its name.
   */
  async getContents(
    path: string,
    options: { content?: boolean; hash?: boolean; type?: "notebook" } = {},
  ): Promise<ContentsModel> {
    const query = new URLSearchParams({
      ...(options.type === undefined ? {} : { type: options.type }),
      ...(options.content === false ? { content: "0" } : {}),
      ...(options.hash ? { hash: "1" } : {}),
    });
    return toContents(await this.#long("GET", contentsPath(path), `file ${path}`, undefined, query));
  }

  /** Writes a notebook or file over whatever is there, and answers its new model, without content. */
  async putContents(
    path: string,
    file: { type: "notebook" | "file"; format: "json" | "text" | "base64"; content: unknown },
  ): Promise<ContentsModel> {
    return toContents(await this.#long("PUT", contentsPath(path), `file ${path}`, file));
  }

  /** Renames or moves a file or folder. Refused (`refused`, status 409) where there is something at `newPath`. */
  async renameContents(path: string, newPath: string): Promise<ContentsModel> {
    return toContents(await this.#long("PATCH", contentsPath(path), `file ${path}`, { path: newPath }));
  }

  #get(path: readonly string[], subject: string): Promise<unknown> {
    return this.#call("GET", path, subject, this.#timeoutMs);
  }

  #long(method: Method, path: readonly string[], subject: string, body?: unknown, query?: URLSearchParams) {
    return this.#call(method, path, subject, this.#longTimeoutMs, { body, query });
  }

  async #call(
    method: Method,
    path: readonly string[],
    subject: string,
    timeoutMs: number,
    more: { body?: unknown; query?: URLSearchParams | undefined; signal?: AbortSignal | undefined } = {},
  ): Promise<unknown> {
    const query = more.query === undefined || more.query.size === 0 ? "" : `?${more.query}`;
    const url = endpoint(this.address, ...path) + query;
    return await this.#http.call({ method, url, subject, timeoutMs, body: more.body, signal: more.signal });
  }
}

type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";

function contentsPath(path: string): string[] {
  return ["api", "contents", ...path.split("/").filter((segment) => segment !== "")];
}

function baseName(path: string): string {
  return path.split("/").at(-1) ?? path;
}

function toKernel(value: unknown): KernelModel {
  const raw = asRecord(value, "a kernel");
  return {
    id: text(raw.id),
    name: text(raw.name),
    lastActivity: text(raw.last_activity),
    executionState: text(raw.execution_state),
    connections: number(raw.connections) ?? 0,
  };
}

function toKernelSpec(value: unknown): KernelSpec {
  const raw = asRecord(value, "a kernelspec");
  const spec = asRecord(raw.spec, "a kernelspec");
  return { name: text(raw.name), displayName: text(spec.display_name), language: text(spec.language) };
}

function toSession(value: unknown): SessionModel {
  const raw = asRecord(value, "a session");
  const kernel = raw.kernel === null || raw.kernel === undefined ? null : toKernel(raw.kernel);
  return { id: text(raw.id), path: text(raw.path), type: text(raw.type), kernel };
}

function toContents(value: unknown): ContentsModel {
  const raw = asRecord(value, "a file");
  return {
    name: text(raw.name),
    path: text(raw.path),
    type: raw.type === "directory" || raw.type === "notebook" ? raw.type : "file",
    created: text(raw.created),
    lastModified: text(raw.last_modified),
    writable: raw.writable === true,
    mimetype: textOrNull(raw.mimetype),
    format: textOrNull(raw.format),
    size: number(raw.size),
    content: raw.content ?? null,
    hash: textOrNull(raw.hash),
    hashAlgorithm: textOrNull(raw.hash_algorithm),
    message: textOrNull(raw.message),
  };
}

function asRecord(value: unknown, what: string): Record<string, unknown> {
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  throw notJupyter(`The server answered ${JSON.stringify(value)?.slice(0, 100)} where ${what} belongs`);
}

function asList(value: unknown, what: string): unknown[] {
  if (Array.isArray(value)) return value;
  throw notJupyter(`The server answered ${JSON.stringify(value)?.slice(0, 100)} where ${what} belong`);
}

function text(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function textOrNull(value: unknown): string | null {
  return typeof value === "string" ? value : null;
}

function number(value: unknown): number | null {
  return typeof value === "number" ? value : null;
}
