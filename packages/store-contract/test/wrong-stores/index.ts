import { compareAndSetMistakes } from "./compare-and-set.js";
import { creationMistakes } from "./creation.js";
import { keyScopeMistakes } from "./key-scope.js";
import { lifecycleMistakes } from "./lifecycle.js";
import { listingMistakes } from "./listing.js";
import { outageMistakes } from "./outage.js";
import { reopenMistakes } from "./reopen.js";
import { retentionMistakes } from "./retention.js";
import { signalsMistakes } from "./signals.js";
import { twoHandlesMistakes } from "./two-handles.js";
import { valuesMistakes } from "./values.js";
import type { WrongStore } from "./wrong-store.js";

export const WRONG_STORES: readonly WrongStore[] = [
  ...lifecycleMistakes,
  ...creationMistakes,
  ...keyScopeMistakes,
  ...compareAndSetMistakes,
  ...retentionMistakes,
  ...listingMistakes,
  ...valuesMistakes,
  ...signalsMistakes,
  ...reopenMistakes,
  ...twoHandlesMistakes,
  ...outageMistakes,
];
