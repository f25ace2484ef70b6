/**
 * The half of a store that is the same whatever server keeps the records: one way from closed to open and back, wake-ups
 * over a relay, changes made to records that are known already, and creating that outlives a connection which breaks.
 */
import { TaskError } from "./errors.js";
import { frozenCopy } from "./frozen-copy.js";
import type { Logger } from "./logger.js";
import { type RecordChange, RecordChanger } from "./record-changer.js";
import { type RecordTexts, recordTextsOf } from "./record-texts.js";
import { SignalRelay } from "./signal-relay.js";
import type { ListQuery, StoreSignals, TaskPage, TaskStore } from "./store.js";
import type { TaskChanges, TaskRecord } from "./task.js";

/** How a store stands with its server. */
export interface ServerHealth {
  /** `degraded` while wake-ups are missing: everything works, later. `down`: the server could not be reached last. */
  state: "ok" | "degraded" | "down" | "closed";
  signals: "connected" | "reconnecting" | "off";
}

/** What a store has of its server while it is open. */
export interface ServerSession {
  /** Whether the last thing that was heard of the server was that it could not be reached. */
  readonly isOut: boolean;
  /** Whether wake-ups arrive; `undefined` without any. */
  readonly isListening: boolean | undefined;
  /** Begins to listen, if there are wake-ups. Called once the session is the store's. */
  listen(): Promise<void>;
  /** Tells every process that shares the store, this one included; `null` when it can't be said of which tasks. */
  publish(taskIds: string[] | null): Promise<void>;
  close(): Promise<void>;
}

export interface ServerStoreOptions {
  /** The kind of server, as messages name it. */
  kind: string;
  /** Whether wake-ups go over the server. */
  signals: boolean;
  /** How long after one wake-up the next one goes at the earliest. */
  notifyIntervalMs: number;
  logger: Logger;
}

export abstract class ServerStore<Session extends ServerSession> implements TaskStore {
  readonly signals?: StoreSignals;
  protected readonly relay: SignalRelay;
  readonly #kind: string;
  readonly #changer: RecordChanger;
  #session: Session | undefined;
  #opening: Promise<void> | undefined;
  #closing: Promise<void> | undefined;

  constructor({ kind, signals, notifyIntervalMs: intervalMs, logger }: ServerStoreOptions) {
    this.#kind = kind;
    const send = async (taskIds: string[] | null): Promise<void> => this.#session?.publish(taskIds);
    this.relay = new SignalRelay({ send, intervalMs, logger });
    if (signals) this.signals = this.relay;
    this.#changer = new RecordChanger({ read: (taskId) => this.read(taskId), write: (change) => this.write(change) });
  }

  abstract get(taskId: string): Promise<TaskRecord | null>;
  abstract findByKey(owner: string, idempotencyKey: string): Promise<TaskRecord | null>;
  abstract list(query: ListQuery): Promise<TaskPage>;
  abstract sweep(limit: number): Promise<number>;
  abstract now(): Promise<number>;

  /**
   * Connects, checks the server and makes it ready.
   *
   * @throws TaskError `store_unusable` with what is wrong and what would be right; nothing is left open then
   */
  protected abstract connect(): Promise<Session>;

  /**
   * Writes a new record with its key, in one step. `key_held`: an unexpired record has the key, or had it a moment ago;
   * `id_taken`: there is a record of this id. In both cases nothing was written.
   */
  protected abstract insert(record: TaskRecord, texts: RecordTexts): Promise<"stored" | "key_held" | "id_taken">;

  /** All texts of an unexpired record. */
  protected abstract read(taskId: string): Promise<RecordTexts | null>;

  /** Writes the texts that changed, if the record's version is still that of `known`, in one step. */
  protected abstract write(change: RecordChange): Promise<"written" | "conflict" | "gone">;

  /** Whether it is unknown what became of a command that failed so. */
  protected abstract isConnectionLost(error: unknown): boolean;

  /** How the store stands with its server, by what was last heard of it; asks nothing. */
  get health(): ServerHealth {
    if (this.#session === undefined) return { state: "closed", signals: "off" };
    const { isOut, isListening } = this.#session;
    const signals = isListening === undefined ? "off" : isListening ? "connected" : "reconnecting";
    return { state: isOut ? "down" : signals === "reconnecting" ? "degraded" : "ok", signals };
  }

  /** @throws TaskError `store_unusable` with what is wrong and what would be right */
  open(): Promise<void> {
    this.#opening ??= this.#open().catch((error: unknown) => {
      this.#opening = undefined;
      throw error;
    });
    return this.#opening;
  }

  close(): Promise<void> {
    this.#closing ??= this.#close().finally(() => {
      this.#closing = undefined;
    });
    return this.#closing;
  }

  async #open(): Promise<void> {
    await this.#closing;
    const session = await this.connect();
    this.#session = session;
    await session.listen();
  }

  async #close(): Promise<void> {
    await this.#opening?.catch(() => {});
    this.#opening = undefined;
    const session = this.#session;
    this.#session = undefined;
    this.#changer.clear();
    await session?.close();
  }

  /** @throws TaskError `not_open` */
  protected get session(): Session {
    if (this.#session === undefined) throw new TaskError("not_open", `The ${this.#kind} store is not open.`);
    return this.#session;
  }

  async create(record: TaskRecord): Promise<TaskRecord> {
    const texts = recordTextsOf(record);
    let inserting = this.#insert(record, texts);
    // It is on its way to the server, which takes longer than this.
    const created = frozenCopy(record);
    for (;;) {
      if (await inserting) {
        this.#changer.keep(created, texts);
        return created;
      }
      const holder = await this.findByKey(record.owner, record.idempotencyKey ?? "");
      // The holder may have expired since it stood in the way; the key is free then.
      if (holder !== null) return holder;
      inserting = this.#insert(created, texts);
    }
  }

  /** Whether the record was stored; otherwise a live record holds its key. */
  async #insert(record: TaskRecord, texts: RecordTexts, isAgain = false): Promise<boolean> {
    try {
      const done = await this.insert(record, texts);
      // Whether the record was stored when the connection broke is not known, but whose it is if its id is taken.
      if (done === "id_taken" && !isAgain) throw new Error(`Task id ${record.taskId} is taken.`);
      return done !== "key_held";
    } catch (error) {
      if (isAgain || !this.isConnectionLost(error)) throw error;
      return this.#insert(record, texts, true);
    }
  }

  update(taskId: string, expectedVersion: number, changes: TaskChanges): Promise<TaskRecord | "conflict" | null> {
    return this.#changer.change(taskId, expectedVersion, changes);
  }
}
