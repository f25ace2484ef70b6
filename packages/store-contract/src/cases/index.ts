import type { CaseGroup } from "../case.js";
import { compareAndSetCases } from "./compare-and-set.js";
import { creationCases } from "./creation.js";
import { keyScopeCases } from "./key-scope.js";
import { lifecycleCases } from "./lifecycle.js";
import { listingCases } from "./listing.js";
import { outageCases } from "./outage.js";
import { reopenCases } from "./reopen.js";
import { retentionCases } from "./retention.js";
import { signalCases } from "./signals.js";
import { twoHandleCases } from "./two-handles.js";
import { valueCases } from "./values.js";

/** Every group of the contract. */
export const allGroups: readonly CaseGroup[] = [
  lifecycleCases,
  creationCases,
  keyScopeCases,
  compareAndSetCases,
  retentionCases,
  listingCases,
  valueCases,
  signalCases,
  reopenCases,
  twoHandleCases,
  outageCases,
];
