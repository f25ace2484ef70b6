/** Which scopes a request needs. */
import type { JsonObject } from "@claimcheck/core";
import { DATALAYER_EXTENSION } from "../dialects/dialect.js";
import { asObject } from "../wire/request.js";

/**
 * Scopes by JSON-RPC method. `"tasks/*"` stands for every method below `tasks/`, `"*"` for every request of any kind,
 * streams included. A request needs the scopes of every row that fits it. `io.datalayer/tasks/get` and its siblings
 * are other names of `tasks/get` and its siblings, and need the same; so does a subscription to tasks as `tasks/get`.
 *
 * @example { "*": ["mcp"], "tools/call": ["tools:run"], "tasks/*": ["tasks:read"], "tasks/cancel": ["tasks:write"] }
 */
export type ScopeTable = Readonly<Record<string, readonly string[]>>;

const OWN_PREFIX = DATALAYER_EXTENSION.replace(/tasks$/, "");
const LISTEN = "subscriptions/listen";

/** RFC 6749, section 3.3. */
const SCOPE_TOKEN = /^[\x21\x23-\x5b\x5d-\x7e]+$/;

export class Scopes {
  readonly #rows: readonly (readonly [string, readonly string[]])[];

  /** @throws TypeError for what is no scope */
  constructor(table: ScopeTable = {}) {
    this.#rows = Object.entries(table);
    for (const [method, scopes] of this.#rows) {
      const wrong = scopes.find((scope) => !SCOPE_TOKEN.test(scope));
      if (wrong !== undefined) throw new TypeError(`${JSON.stringify(wrong)}, for ${method}, is no OAuth scope.`);
    }
  }

  /** All that the table names. */
  get supported(): readonly string[] {
    return [...new Set(this.#rows.flatMap(([, scopes]) => scopes))];
  }

  /** What every request needs. */
  get always(): readonly string[] {
    return this.#of("");
  }

  /** What the messages of `body` need. */
  neededBy(body: unknown): readonly string[] {
    const messages = Array.isArray(body) ? body : [body];
    return [...new Set(messages.flatMap(methodsOf).flatMap((method) => this.#of(method)))];
  }

  #of(method: string): readonly string[] {
    return [...new Set(this.#rows.filter(([row]) => fits(row, method)).flatMap(([, scopes]) => scopes))];
  }
}

function fits(row: string, method: string): boolean {
  return row === method || (row.endsWith("*") && method.startsWith(row.slice(0, -1)));
}

function methodsOf(message: unknown): string[] {
  const { method, params } = asObject(message) ?? {};
  if (typeof method !== "string") return [""];
  if (method === LISTEN) return namesTasks(asObject(params)) ? [LISTEN, "tasks/get"] : [LISTEN];
  return [method.startsWith(OWN_PREFIX) ? method.slice(OWN_PREFIX.length) : method];
}

function namesTasks(params: JsonObject = {}): boolean {
  return [params, ...Object.values(params)].some((member) => asObject(member)?.taskIds !== undefined);
}
