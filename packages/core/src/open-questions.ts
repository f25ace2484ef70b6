/** What a running handler asks: each question is put into the record once, waited for, and withdrawn when its time is over. */
import { type QuestionRequest, QuestionWithdrawnError } from "./context.js";
import type { Deadline, Deadlines } from "./deadlines.js";
import { questionKey } from "./ids.js";
import type { JsonObject } from "./json.js";
import type { Question } from "./task.js";

type Reason = QuestionWithdrawnError["reason"];

interface Waiting {
  resolve: (answer: JsonObject) => void;
  reject: (error: QuestionWithdrawnError) => void;
  deadline: Deadline | undefined;
}

/** What the questions need of the attempt that asks them. */
export interface OpenQuestionsOptions {
  deadlines: Deadlines;
  now: () => number;
  /** All questions of the record as last seen, those of earlier attempts included. */
  recorded: () => readonly Question[];
  /** Answers whether the record has the question; rejects when the store does not take it. */
  put: (question: Question) => Promise<boolean>;
  /** Never rejects. */
  withdraw: (key: string) => Promise<void>;
}

export class OpenQuestions {
  readonly #options: OpenQuestionsOptions;
  readonly #waiting = new Map<string, Waiting>();
  /** The keys of what this attempt has asked. */
  readonly #asked = new Set<string>();

  constructor(options: OpenQuestionsOptions) {
    this.#options = options;
  }

  /**
   * The answer, once {@link look} finds it in the record.
   *
   * @throws QuestionWithdrawnError, and what the store throws when it does not take the question
   */
  async ask(request: QuestionRequest): Promise<JsonObject> {
    const earlier = this.#askedEarlier(request);
    const question = earlier ?? this.#newQuestion(request);
    this.#asked.add(question.key);
    if (earlier?.answer !== undefined) return earlier.answer;
    const answer = this.#wait(question);
    if (earlier === undefined) await this.#put(question);
    return answer;
  }

  /** A handler that runs again asks what it asked before: the person is not asked twice. */
  #askedEarlier({ method, params }: QuestionRequest): Question | undefined {
    const left = this.#options
      .recorded()
      .filter(({ key, withdrawnAt }) => withdrawnAt === undefined && !this.#asked.has(key));
    if (left.length === 0) return undefined;
    const same = JSON.stringify([method, params]);
    return left.find((asked) => JSON.stringify([asked.method, asked.params]) === same);
  }

  #newQuestion({ method, params, timeoutMs }: QuestionRequest): Question {
    const askedAt = this.#options.now();
    const question: Question = { key: questionKey(this.#options.recorded().length), method, params, askedAt };
    if (timeoutMs !== undefined && Number.isFinite(timeoutMs)) question.expiresAt = askedAt + timeoutMs;
    return question;
  }

  #wait({ key, expiresAt }: Question): Promise<JsonObject> {
    const answer = new Promise<JsonObject>((resolve, reject) => {
      const onTimeout = (): void => void this.#timeOut(key);
      const deadline = expiresAt === undefined ? undefined : this.#options.deadlines.at(expiresAt, onTimeout);
      this.#waiting.set(key, { resolve, reject, deadline });
    });
    // It may be settled before anybody waits for it, which must not count as unhandled.
    answer.catch(() => {});
    return answer;
  }

  async #put(question: Question): Promise<void> {
    let isThere = false;
    try {
      isThere = await this.#options.put(question);
    } finally {
      if (!isThere) this.#withdraw(question.key, "task_ended");
    }
  }

  async #timeOut(key: string): Promise<void> {
    await this.#options.withdraw(key);
    this.#withdraw(key, "timed_out");
  }

  /** Settles what the record says is answered or withdrawn. */
  look(questions: readonly Question[]): void {
    if (this.#waiting.size === 0) return;
    for (const { key, answer, withdrawnAt } of questions) {
      if (answer !== undefined) this.#take(key)?.resolve(answer);
      else if (withdrawnAt !== undefined) this.#withdraw(key, "timed_out");
    }
  }

  withdrawAll(reason: Reason): void {
    for (const key of [...this.#waiting.keys()]) this.#withdraw(key, reason);
  }

  #withdraw(key: string, reason: Reason): void {
    this.#take(key)?.reject(new QuestionWithdrawnError(reason));
  }

  #take(key: string): Waiting | undefined {
    const waiting = this.#waiting.get(key);
    this.#waiting.delete(key);
    waiting?.deadline?.cancel();
    return waiting;
  }
}
