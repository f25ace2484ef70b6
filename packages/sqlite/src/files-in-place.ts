/**
 * Whether the files of an open store are still the ones that its path names. A file that was removed or replaced goes on
 * taking writes for as long as somebody has it open, and all of them are gone with the process: nothing may be acknowledged
 * then. And beside a log or an index of locks that others do not see, two processes would damage the file
 * (https://sqlite.org/howtocorrupt.html, section 2.4).
 */
import { lstatSync, realpathSync, type Stats, statSync } from "node:fs";
import { dirname } from "node:path";
import { TaskError } from "@claimcheck/core";

/** What happens to a folder sooner after a look at it may bear the same time: file systems count in steps of up to this. */
const COARSEST_STEP_MS = 2_000;

interface OpenedFile {
  file: string;
  identity: string | undefined;
}

export class FilesInPlace {
  /** What is looked at before each write: a link may lead elsewhere while nothing changes in the folder of the file. */
  readonly #linked: readonly OpenedFile[];
  readonly #inFolder: readonly OpenedFile[];
  readonly #folder: string;
  /** The folder, as it was when everything in it was last found in its place. */
  #settled: string | undefined;

  /** @param path of a file that has just been opened, and read: what SQLite puts beside it is there then, and stays */
  constructor(path: string) {
    const isLink = lstatSync(path).isSymbolicLink();
    const real = realpathSync(path);
    const [main, ...beside] = [path, `${real}-wal`, `${real}-shm`].map(opened) as [OpenedFile, OpenedFile, OpenedFile];
    this.#linked = isLink ? [main] : [];
    this.#inFolder = isLink ? beside : [main, ...beside];
    this.#folder = dirname(isLink ? real : path);
  }

  /**
   * The files are looked at only when their folder has changed: to ask for the times of a log that is written all the time
   * makes its next write wait for the disk longer, as its new time has to get there as well.
   *
   * @throws TaskError `store_unusable`
   */
  check(): void {
    for (const file of this.#linked) checkIdentity(file);
    const folder = found(this.#folder);
    const state = folder && `${identityOf(folder)}:${folder.ctimeMs}`;
    if (state !== undefined && state === this.#settled) return;
    for (const file of this.#inFolder) checkIdentity(file);
    const isOld = folder !== undefined && Date.now() - folder.ctimeMs > COARSEST_STEP_MS;
    this.#settled = isOld ? state : undefined;
  }
}

function opened(file: string): OpenedFile {
  return { file, identity: identityOf(found(file)) };
}

function checkIdentity({ file, identity }: OpenedFile): void {
  if (identity === undefined || identity === identityOf(found(file))) return;
  throw new TaskError(
    "store_unusable",
    `The SQLite file ${file} was removed or replaced while this process had it open. Nothing is written any more: ` +
      "it would be lost with the process. Put the file back where it was, or start the process again.",
  );
}

function found(file: string): Stats | undefined {
  try {
    return statSync(file);
  } catch {
    return undefined;
  }
}

/** Tells a file from any other that is there at the same time; `undefined` for none. */
function identityOf(stats: Stats | undefined): string | undefined {
  return stats && `${stats.dev}:${stats.ino}`;
}
