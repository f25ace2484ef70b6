/**
 * Notebooks through the server's contents API.
 *
 * The server takes whatever is sent, whatever it had meanwhile, so conflicts are found here: the file's revision is looked
 * at just before it is written, and on a change the edit is made again on what is there now. Between that look and the
 * write lies a moment in which another writer's change can still be lost; nothing in the API closes it.
 */
import { setTimeout as delay } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import type { ContentsModel, JupyterRest } from "../kernel/index.js";
import { JupyterError } from "../kernel/index.js";
import { Turns } from "../turns.js";
import { type IdRepair, repairIds } from "./cell-ids.js";
import { type RunRecord, setRun } from "./edit.js";
import { NotebookError } from "./errors.js";
import { type CellKey, findAgain } from "./find-cell.js";
import type { Notebook } from "./nbformat.js";
import { parseNotebook, problemsOf } from "./validate.js";

/** The part of the REST client that notebooks need. */
export type ContentsApi = Pick<JupyterRest, "getContents" | "putContents" | "renameContents">;

/** What the server had before the edit, and whether it knew it to be invalid. */
interface NotebookFile {
  notebook: Notebook;
  revision: Revision;
  message: string | null;
}

interface Revision {
  hash: string | null;
  lastModified: string;
}

/** A write that has landed. */
export interface NotebookUpdate {
  /** As it was sent. */
  notebook: Notebook;
  /** Cells whose ids had to be changed for the notebook to be valid: say so, since a caller may hold the old ones. */
  repairs: IdRepair[];
  /** What was wrong with the notebook before, and still is. */
  warnings: string[];
}

/** Whether a run's outputs are in the notebook; if not, only the run has them. */
export type SaveOutcome =
  /** `id` is the cell's id now: another one than before where the file had none, or had it twice. */
  | { saved: true; index: number; id: string | undefined; update: NotebookUpdate }
  | { saved: false; reason: "cell_deleted" | "cell_not_code" | "notebook_deleted"; message: string };

/** An edit is made anew this often before a file that changes all the time is given up. */
const MAX_ATTEMPTS = 5;

/**
 * The server writes a notebook over itself, with a copy of what it was beside it. Whoever reads it before it is whole has
 * the server take it for the remains of a crash: it is set aside as `….invalid`, where its writer goes on, and the copy is
 * put in its place; and if the writer has ended in between, there is no copy any more, and nothing in its place. Nearly all
 * of that time the file is empty, so an empty one is not read, but looked at again after each of these pauses; and so is one
 * whose reading failed.
 */
const HALF_WRITTEN_PAUSES_MS = [50, 200, 500, 1_000];

/** Reads and edits notebooks. Edits of one path are made one after the other, and a read sees every edit begun before it. */
export class NotebookFiles {
  readonly #api: ContentsApi;
  /** By path. */
  readonly #turns = new Turns();

  constructor(api: ContentsApi) {
    this.#api = api;
  }

  /** @throws JupyterError, NotebookError `not_a_notebook` or `unsupported_format` */
  async read(path: string): Promise<Notebook> {
    const { notebook } = await this.#inTurn(path, () => this.#get(path, { wasThere: false }));
    return notebook;
  }

  /**
   * Applies `edit` to the notebook and writes it. `edit` is called again on the newer notebook when somebody else wrote
   * meanwhile, so it has to find its cell by id; and on what it made itself after a write that the server said had failed, so
   * that twice must come to the same as once. When it throws, or answers the notebook it was given, nothing is written.
   *
   * @throws JupyterError, NotebookError, and whatever `edit` throws
   */
  async update(path: string, edit: (notebook: Notebook) => Notebook): Promise<NotebookUpdate> {
    return await this.#inTurn(path, () => this.#update(path, edit));
  }

  /** Puts a run's outputs into its cell, wherever that is by now. That it is gone is an answer and no error. */
  async saveRun(path: string, key: CellKey, run: RunRecord): Promise<SaveOutcome> {
    let index = key.index;
    try {
      const update = await this.update(path, (notebook) => {
        index = indexForRun(notebook, key);
        return setRun(notebook, index, run);
      });
      return { saved: true, index, id: update.notebook.cells[index]?.id, update };
    } catch (error) {
      const outcome = unsaved(error, path);
      if (outcome) return outcome;
      throw error;
    }
  }

  async #update(path: string, edit: (notebook: Notebook) => Notebook): Promise<NotebookUpdate> {
    for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt++) {
      const file = await this.#get(path, { wasThere: attempt > 1 });
      const edited = edit(file.notebook);
      const warnings = problemsOf(file.notebook);
      if (edited === file.notebook) return { notebook: edited, repairs: [], warnings };
      const { notebook, repairs } = repairIds(edited);
      refuseNewProblems(warnings, problemsOf(notebook));
      try {
        if (!(await this.#isCurrent(path, file.revision))) continue;
        if (await this.#put(path, notebook, file)) return { notebook, repairs, warnings };
      } catch (error) {
        if (attempt === MAX_ATTEMPTS || !isOfSettingAside(error)) throw error;
      }
    }
    throw new NotebookError(
      "conflict",
      `${path} was changed by others ${MAX_ATTEMPTS} times while it was being edited. Nothing was written; try again.`,
    );
  }

  async #get(path: string, { wasThere }: { wasThere: boolean }): Promise<NotebookFile> {
    const model = await this.#model(path, wasThere);
    return { notebook: parseNotebook(model.content), revision: revisionOf(model), message: model.message };
  }

  /** A notebook that was there a moment ago and is not, the server has set aside. */
  async #model(path: string, wasThere: boolean): Promise<ContentsModel> {
    let isKnown = wasThere;
    for (let tries = 0; ; tries++) {
      const pauseMs = HALF_WRITTEN_PAUSES_MS[tries];
      try {
        const { type, size } = await this.#api.getContents(path, { content: false });
        if (type !== "notebook") throw notANotebook(path, type);
        isKnown = true;
        if (size === 0) throw new NotebookError("not_a_notebook", `${path} is empty, or is just being written.`);
        return await this.#api.getContents(path, { hash: true });
      } catch (error) {
        if (pauseMs === undefined || !isKnown || !isOfWriting(error)) throw error;
        if (isNotFound(error)) await this.#putBack(path);
      }
      await delay(pauseMs);
    }
  }

  /** The server renames nothing to the name of something that is there. */
  async #putBack(path: string): Promise<void> {
    const aside = `${path}.invalid`;
    try {
      await this.#api.getContents(aside, { type: "notebook" });
      await this.#api.renameContents(aside, path);
    } catch (error) {
      // There is none, or only a part of it, or somebody else was faster: the next read tells.
      if (!JupyterError.is(error)) throw error;
    }
  }

  async #isCurrent(path: string, { hash, lastModified }: Revision): Promise<boolean> {
    const now = await this.#api.getContents(path, { content: false, hash: true });
    return hash !== null && now.hash !== null ? hash === now.hash : lastModified === now.lastModified;
  }

  /**
   * Whether the notebook is there now: of one that was set aside meanwhile the server says so too, but with the time of the
   * copy that is in its place. An invalid notebook it saves all the same, and says so in a message.
   */
  async #put(path: string, notebook: Notebook, before: NotebookFile): Promise<boolean> {
    const answer = await this.#api.putContents(path, { type: "notebook", format: "json", content: notebook });
    if (answer.message !== null && before.message === null) {
      throw new NotebookError(
        "saved_invalid",
        `The server has saved ${path} and finds it invalid: ${answer.message.split("\n", 1)[0]}`,
      );
    }
    // Not by the time alone, which is coarse on some file systems.
    const isAsBefore = answer.lastModified === before.revision.lastModified && before.revision.hash !== null;
    return (
      !isAsBefore || isDeepStrictEqual(notebook, before.notebook) || !(await this.#isCurrent(path, before.revision))
    );
  }

  #inTurn<T>(path: string, work: () => Promise<T>): Promise<T> {
    return this.#turns.take(path.replace(/^\/+/, ""), work);
  }
}

/** What may be over when the notebook has been written: an empty file, one that is no JSON yet, one that is set aside. */
function isOfWriting(error: unknown): boolean {
  return error instanceof NotebookError || isOfSettingAside(error) || (JupyterError.is(error) && error.status === 400);
}

/** Between the two moves of setting aside there is nothing at the path, nor after them if the second one failed. */
function isOfSettingAside(error: unknown): boolean {
  return isNotFound(error) || (JupyterError.is(error) && error.code === "server_error");
}

function isNotFound(error: unknown): boolean {
  return JupyterError.is(error) && error.code === "not_found";
}

function notANotebook(path: string, type: string): NotebookError {
  return new NotebookError("not_a_notebook", `${path} is a ${type} and no notebook: a notebook's name ends in .ipynb.`);
}

function revisionOf({ hash, lastModified }: ContentsModel): Revision {
  return { hash, lastModified };
}

function refuseNewProblems(before: readonly string[], after: readonly string[]): void {
  const added = after.filter((problem) => !before.includes(problem));
  if (added.length === 0) return;
  throw new NotebookError(
    "would_be_invalid",
    `The edit would make the notebook invalid, so nothing was written: ${added.join("; ")}.`,
  );
}

function indexForRun(notebook: Notebook, key: CellKey): number {
  const found = findAgain(notebook, key);
  if (found) return found.index;
  const name = key.id === undefined ? `with index ${key.index}` : JSON.stringify(key.id);
  throw new NotebookError(
    "cell_not_found",
    `The cell ${name} was deleted while it ran. Its outputs are in this result only.`,
  );
}

function unsaved(error: unknown, path: string): SaveOutcome | undefined {
  if (error instanceof NotebookError && error.code === "cell_not_found") {
    return { saved: false, reason: "cell_deleted", message: error.message };
  }
  if (error instanceof NotebookError && error.code === "not_code") {
    return {
      saved: false,
      reason: "cell_not_code",
      message: `The cell is no code cell any more. Its outputs are in this result only.`,
    };
  }
  if (isNotFound(error)) {
    return {
      saved: false,
      reason: "notebook_deleted",
      message: `${path} was deleted or moved while its cell ran. The outputs are in this result only.`,
    };
  }
  return undefined;
}
