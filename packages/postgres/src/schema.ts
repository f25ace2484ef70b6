/** The schema that one set of tables lives in: any name, quoted. */
import { createHash } from "node:crypto";
import { TaskError } from "@claimcheck/core";

/** PostgreSQL cuts longer identifiers off without a word, so that two schemas would become one. */
const LONGEST_NAME_BYTES = 63;

export class Schema {
  readonly name: string;
  /** As it stands in SQL. */
  readonly quoted: string;
  /** The channel of its signals. A channel belongs to the whole database, so each schema has its own. */
  readonly channel: string;
  /** Names the advisory lock that its migrations take, as a signed 64-bit number in decimal. */
  readonly lockId: string;

  /** @throws TaskError `store_unusable` when PostgreSQL could not carry the name as it is */
  constructor(name: string) {
    const bytes = Buffer.byteLength(name);
    if (bytes === 0 || bytes > LONGEST_NAME_BYTES || name.includes("\0") || !name.isWellFormed()) {
      throw new TaskError(
        "store_unusable",
        `The PostgreSQL schema ${JSON.stringify(name)} has no usable name: 1 to ${LONGEST_NAME_BYTES} bytes without NUL are.`,
      );
    }
    const digest = createHash("sha256").update(name).digest();
    this.name = name;
    this.quoted = `"${name.replaceAll('"', '""')}"`;
    this.channel = `claimcheck_${digest.toString("hex", 0, 16)}`;
    this.lockId = digest.readBigInt64BE(16).toString();
  }

  /** `sql` with its `{schema}` filled in. */
  fill(sql: string): string {
    // A function, as a text would be read for patterns such as `$&`.
    return sql.replaceAll("{schema}", () => this.quoted);
  }
}
