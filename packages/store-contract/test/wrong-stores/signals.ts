import { PlainStore } from "../plain-store.js";
import type { WrongStore } from "./wrong-store.js";

type Listener = (taskId: string | null) => void;

class DeafSignals extends PlainStore {
  protected override notify(): void {}
}

class OwnProcessSignals extends PlainStore {
  readonly #listeners = new Set<Listener>();

  protected override subscribe(listener: Listener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  protected override notify(taskId: string): void {
    for (const listener of this.#listeners) listener(taskId);
  }
}

class OneListener extends PlainStore {
  protected override subscribe(listener: Listener): () => void {
    this.backend.listeners.clear();
    return super.subscribe(listener);
  }
}

class CallsInsidePublish extends PlainStore {
  protected override publish(taskId: string): void {
    this.notify(taskId);
  }
}

class ThrowsWhenClosed extends PlainStore {
  #closed = false;

  override async close(): Promise<void> {
    this.#closed = true;
  }

  protected override publish(taskId: string): void {
    if (this.#closed) throw new Error("closed");
    super.publish(taskId);
  }
}

class NeverStopsCalling extends PlainStore {
  protected override subscribe(listener: Listener): () => void {
    super.subscribe(listener);
    return () => {};
  }
}

export const signalsMistakes: readonly WrongStore[] = [
  {
    name: "signals go nowhere",
    store: DeafSignals,
    fails: [
      "Says that the task changed",
      "Calls `listener` when some process changed a task; with `null` when it can't be said which",
      "Calls `listener` when some process changed a task; with `null` when it can't be said which — each of several listeners",
      "a function that stops the calls",
      "A store that is broken rejects; the caller takes nothing for granted then — signals come back",
      "A store that is broken rejects; the caller takes nothing for granted then — signals between processes come back",
    ],
  },
  {
    name: "signals stay in the process",
    store: OwnProcessSignals,
    fails: [
      "Calls `listener` when some process changed a task; with `null` when it can't be said which",
      "Calls `listener` when some process changed a task; with `null` when it can't be said which — each of several listeners",
      "A store that is broken rejects; the caller takes nothing for granted then — signals between processes come back",
    ],
  },
  {
    name: "the last listener is the only one",
    store: OneListener,
    fails: [
      "Calls `listener` when some process changed a task; with `null` when it can't be said which — each of several listeners",
    ],
  },
  { name: "listeners run inside publish", store: CallsInsidePublish, fails: ["Never throws, never waits"] },
  {
    name: "publish throws when closed",
    store: ThrowsWhenClosed,
    fails: ["Never throws, never waits — whatever it is given, and closed as well"],
  },
  { name: "listeners can't be stopped", store: NeverStopsCalling, fails: ["a function that stops the calls"] },
];
