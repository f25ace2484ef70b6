import type { StoreSignals } from "@claimcheck/core";
import { PlainStore } from "../plain-store.js";
import type { WrongStore } from "./wrong-store.js";

class DeafSignals extends PlainStore {
  override readonly signals: StoreSignals = { publish: () => {}, subscribe: () => () => {} };
}

class OwnProcessSignals extends PlainStore {
  readonly #listeners = new Set<(taskId: string | null) => void>();
  override readonly signals: StoreSignals = {
    publish: (taskId) =>
      queueMicrotask(() => {
        for (const listener of this.#listeners) listener(taskId);
      }),
    subscribe: (listener) => {
      this.#listeners.add(listener);
      return () => this.#listeners.delete(listener);
    },
  };
}

class OneListener extends PlainStore {
  override readonly signals: StoreSignals = {
    publish: (taskId) => queueMicrotask(() => this.notify(taskId)),
    subscribe: (listener) => {
      this.backend.listeners.clear();
      this.backend.listeners.add(listener);
      return () => this.backend.listeners.delete(listener);
    },
  };
}

class CallsInsidePublish extends PlainStore {
  override readonly signals: StoreSignals = {
    publish: (taskId) => this.notify(taskId),
    subscribe: (listener) => {
      this.backend.listeners.add(listener);
      return () => this.backend.listeners.delete(listener);
    },
  };
}

class ThrowsWhenClosed extends PlainStore {
  #closed = false;

  override async close(): Promise<void> {
    this.#closed = true;
  }

  override readonly signals: StoreSignals = {
    publish: (taskId) => {
      if (this.#closed) throw new Error("closed");
      queueMicrotask(() => this.notify(taskId));
    },
    subscribe: (listener) => {
      this.backend.listeners.add(listener);
      return () => this.backend.listeners.delete(listener);
    },
  };
}

class NeverStopsCalling extends PlainStore {
  override readonly signals: StoreSignals = {
    publish: (taskId) => queueMicrotask(() => this.notify(taskId)),
    subscribe: (listener) => {
      this.backend.listeners.add(listener);
      return () => {};
    },
  };
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
