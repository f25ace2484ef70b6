/** The barest kernel client: legacy JSON over one WebSocket, enough to run code and see the kernel go idle. */
import { randomUUID } from "node:crypto";
import { WebSocket } from "ws";

interface Message {
  header: { msg_type: string };
  parent_header: { msg_id?: string };
  content: Record<string, unknown>;
}

export class KernelWatch {
  readonly #socket: WebSocket;
  readonly #session = randomUUID();
  readonly #idle = new Map<string, () => void>();
  #onOutput: (() => void) | undefined;

  private constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.on("message", (data) => {
      // The server coalesces small frames until they are acknowledged; any frame of ours carries the acknowledgement.
      socket.pong();
      this.#receive(JSON.parse(String(data)) as Message);
    });
  }

  static async connect({
    url,
    token,
    kernelId,
  }: {
    url: string;
    token: string;
    kernelId: string;
  }): Promise<KernelWatch> {
    const address = new URL(`api/kernels/${kernelId}/channels?session_id=${randomUUID()}`, url.replace(/^http/, "ws"));
    const socket = new WebSocket(address, { headers: { authorization: `token ${token}` }, perMessageDeflate: false });
    const watch = new KernelWatch(socket);
    await new Promise((resolve, reject) => socket.once("open", resolve).once("error", reject));
    return watch;
  }

  /** Resolves at the next output of whatever runs on the kernel. */
  nextOutput(): Promise<void> {
    return new Promise((resolve) => {
      this.#onOutput = resolve;
    });
  }

  /** Runs `code`; resolves when the kernel is idle again. */
  execute(code: string): Promise<void> {
    const msgId = randomUUID();
    const header = {
      msg_id: msgId,
      msg_type: "execute_request",
      session: this.#session,
      username: "bench",
      version: "5.3",
      date: new Date().toISOString(),
    };
    const content = {
      code,
      silent: false,
      store_history: true,
      user_expressions: {},
      allow_stdin: false,
      stop_on_error: false,
    };
    const idle = new Promise<void>((resolve) => this.#idle.set(msgId, resolve));
    this.#socket.send(
      JSON.stringify({ channel: "shell", header, parent_header: {}, metadata: {}, content, buffers: [] }),
    );
    return idle;
  }

  close(): void {
    this.#socket.terminate();
  }

  #receive({ header, parent_header, content }: Message): void {
    if (header.msg_type === "stream") this.#onOutput?.();
    if (header.msg_type !== "status" || content.execution_state !== "idle") return;
    this.#idle.get(parent_header.msg_id ?? "")?.();
  }
}
