/** Which dialect a request is served in: decided per request, never per server. */
import { core20251125, core20251125WithoutErrorStatus } from "./core-2025-11-25.js";
import { datalayer } from "./datalayer.js";
import { DATALAYER_EXTENSION, type Dialect, type Era, TASKS_EXTENSION } from "./dialect.js";
import { extension20260728 } from "./extension-2026-07-28.js";

/** Which contract a 2025-era connection gets that declared nothing. */
export type Contract = "datalayer" | "2025-11-25";

/** What a task of 2025-11-25 is whose result says `isError`. */
export type IsErrorAs = "failed" | "completed";

export interface Speaker {
  era: Era;
  /** The ids of the extensions that the client declared: in this request (2026), or when it connected (2025). */
  extensions: ReadonlySet<string>;
  contract: Contract;
  isErrorAs?: IsErrorAs;
}

/**
 * The dialect in force; `null` when tasks were not negotiated, which only a 2026-era request can bring about. A client
 * that declares both extensions gets ours: it would not know the name if it did not mean it.
 */
export function chooseDialect({ era, extensions, contract, isErrorAs }: Speaker): Dialect | null {
  if (extensions.has(DATALAYER_EXTENSION)) return datalayer;
  if (era === "2026") return extensions.has(TASKS_EXTENSION) ? extension20260728 : null;
  if (contract === "datalayer") return datalayer;
  return isErrorAs === "completed" ? core20251125WithoutErrorStatus : core20251125;
}
