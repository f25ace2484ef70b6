/** The questions that a running handler waits for. */
import { QuestionWithdrawnError } from "./context.js";
import type { Deadline, Deadlines } from "./deadlines.js";
import type { JsonObject } from "./json.js";
import type { Question } from "./task.js";

type Reason = QuestionWithdrawnError["reason"];

interface Waiting {
  resolve: (answer: JsonObject) => void;
  reject: (error: QuestionWithdrawnError) => void;
  deadline: Deadline | undefined;
}

export class OpenQuestions {
  readonly #deadlines: Deadlines;
  readonly #onTimeout: (key: string) => void;
  readonly #waiting = new Map<string, Waiting>();

  constructor(deadlines: Deadlines, onTimeout: (key: string) => void) {
    this.#deadlines = deadlines;
    this.#onTimeout = onTimeout;
  }

  /** The answer, once {@link look} finds it in the record. */
  wait({ key, expiresAt }: Question): Promise<JsonObject> {
    const answer = new Promise<JsonObject>((resolve, reject) => {
      const deadline = expiresAt === undefined ? undefined : this.#deadlines.at(expiresAt, () => this.#onTimeout(key));
      this.#waiting.set(key, { resolve, reject, deadline });
    });
    // It may be settled before anybody waits for it, which must not count as unhandled.
    answer.catch(() => {});
    return answer;
  }

  /** Settles what the record says is answered or withdrawn. */
  look(questions: readonly Question[]): void {
    if (this.#waiting.size === 0) return;
    for (const { key, answer, withdrawnAt } of questions) {
      if (answer !== undefined) this.#take(key)?.resolve(answer);
      else if (withdrawnAt !== undefined) this.withdraw(key, "timed_out");
    }
  }

  withdraw(key: string, reason: Reason): void {
    this.#take(key)?.reject(new QuestionWithdrawnError(reason));
  }

  withdrawAll(reason: Reason): void {
    for (const key of [...this.#waiting.keys()]) this.withdraw(key, reason);
  }

  #take(key: string): Waiting | undefined {
    const waiting = this.#waiting.get(key);
    this.#waiting.delete(key);
    waiting?.deadline?.cancel();
    return waiting;
  }
}
