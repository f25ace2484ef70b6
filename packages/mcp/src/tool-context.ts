/** What a tool's handler gets: the same object on a direct call and in a task. */
import type { JsonObject, JsonValue } from "@claimcheck/core";

export interface CancelToken {
  isCancelled(): boolean;
  /** Throws once the call is cancelled. */
  checkCancelled(): void;
  /** Resolves `true` when the call is cancelled, `false` when it ended otherwise. */
  wait(): Promise<boolean>;
}

export interface TaskHandle {
  readonly taskId: string;
  /** Says how far the work has come. `false` once the task is terminal. */
  sendProgress(current: number, options?: { total?: number; message?: string }): boolean;
  /** Records all outputs so far; replaces what was recorded. `false` once the task is terminal. */
  recordOutput(outputsSoFar: JsonValue[]): boolean;
  /** Says how to stop the work, and what to do when that does not help. `false` once the task is terminal. */
  registerInterrupt(stop: () => unknown, options?: { escalate?: () => unknown }): boolean;
  /** Sets the task to `input_required`. */
  requireInput(message: string): Promise<boolean>;
  /** Sets the task back to `working`. */
  setWorking(message?: string): Promise<boolean>;
  /** Keeps what a `resume` tool needs to go on after a crash. */
  checkpoint(value: JsonValue): Promise<boolean>;
}

export interface ToolContext {
  /** Fires when the call is cancelled. In a task it fires on `tasks/cancel` only, on a direct call also when the caller is gone. */
  readonly signal: AbortSignal;
  readonly cancelToken: CancelToken;
  /** `null` on a direct call. */
  readonly task: TaskHandle | null;
  /** Who called: `owner`, `principal`, `sessionId`, `clientInfo`, `headers` (only those kept). */
  readonly request: JsonObject;
}
