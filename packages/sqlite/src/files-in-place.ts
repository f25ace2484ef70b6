/**
 * Whether the files of an open store are still the ones that its path names. A file that was removed or replaced goes on
 * taking writes for as long as somebody has it open, and all of them are gone with the process: nothing may be acknowledged
 * then. And beside a log or an index of locks that others do not see, two processes would damage the file
 * (https://sqlite.org/howtocorrupt.html, section 2.4).
 */
import { realpathSync, statSync } from "node:fs";
import { TaskError } from "@claimcheck/core";

export class FilesInPlace {
  readonly #opened: readonly { file: string; identity: string | undefined }[];

  /** @param path of a file that has just been opened, and read: what SQLite puts beside it is there then, and stays */
  constructor(path: string) {
    const real = realpathSync(path);
    const files = [path, `${real}-wal`, `${real}-shm`];
    this.#opened = files.map((file) => ({ file, identity: identityOf(file) }));
  }

  /** @throws TaskError `store_unusable` */
  check(): void {
    for (const { file, identity } of this.#opened) {
      if (identity === undefined || identity === identityOf(file)) continue;
      throw new TaskError(
        "store_unusable",
        `The SQLite file ${file} was removed or replaced while this process had it open. Nothing is written any more: ` +
          "it would be lost with the process. Put the file back where it was, or start the process again.",
      );
    }
  }
}

/** Tells a file from any other that is there at the same time; `undefined` for none. */
function identityOf(file: string): string | undefined {
  try {
    const { dev, ino } = statSync(file);
    return `${dev}:${ino}`;
  } catch {
    return undefined;
  }
}
