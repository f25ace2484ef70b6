import type { TaskRecord } from "@claimcheck/core";
import { isTerminal } from "@claimcheck/core";
import { PlainStore } from "../plain-store.js";
import type { WrongStore } from "./wrong-store.js";

class OneScopeForAll extends PlainStore {
  protected override keyOf(_owner: string, key: string): string {
    return key;
  }
}

class JoinsWithAColon extends PlainStore {
  protected override keyOf(owner: string, key: string): string {
    return `${owner}:${key}`;
  }
}

class FoldsCase extends PlainStore {
  protected override keyOf(owner: string, key: string): string {
    return super.keyOf(owner.toLowerCase(), key.toLowerCase());
  }
}

class KeysAsMembers extends PlainStore {
  readonly #members: Record<string, string> = {};

  protected override holderOf(record: TaskRecord): TaskRecord | null {
    const known = this.#members[record.owner] ?? this.#members[record.idempotencyKey ?? "none"];
    if (known !== undefined) throw new TypeError(`${known} is no task id`);
    return super.holderOf(record);
  }
}

class ForgetsKeysOfTheFinished extends PlainStore {
  override async findByKey(owner: string, key: string): Promise<TaskRecord | null> {
    const record = await super.findByKey(owner, key);
    return record !== null && isTerminal(record) ? null : record;
  }
}

export const keyScopeMistakes: readonly WrongStore[] = [
  {
    name: "keys have one scope for all owners",
    store: OneScopeForAll,
    fails: [
      "Keys of different owners never meet",
      "Keys of different owners never meet — whatever characters join or end them",
      "Keys of different owners never meet — nor do two that only look or fold alike",
      "Keys of different owners never meet — nor does one meet what every object has",
      "The live or finished record that holds the key; `null` when none does, or it has expired",
    ],
  },
  {
    name: "owner and key are joined with a colon",
    store: JoinsWithAColon,
    fails: ["Keys of different owners never meet — whatever characters join or end them"],
  },
  {
    name: "owner and key are folded to lower case",
    store: FoldsCase,
    fails: ["Keys of different owners never meet — nor do two that only look or fold alike"],
  },
  {
    name: "keys are members of a plain object",
    store: KeysAsMembers,
    fails: [
      "Keys of different owners never meet — nor does one meet what every object has",
      "NUL characters, lone surrogates, a member named `__proto__` and empty strings survive — in owners, keys and names as well",
    ],
  },
  {
    name: "findByKey forgets the finished",
    store: ForgetsKeysOfTheFinished,
    fails: [
      "The live or finished record that holds the key; `null` when none does, or it has expired",
      "Removes up to `limit` expired tasks and frees their keys, and only theirs; answers how many",
    ],
  },
];
