// What this package promises. Adding a line here is a decision.
export type { Capability, CaseGroup, ContractCase } from "./case.js";
export { CaseContext, type CaseSettings } from "./case-context.js";
export { compareAndSetCases } from "./cases/compare-and-set.js";
export { creationCases } from "./cases/creation.js";
export { allGroups } from "./cases/index.js";
export { keyScopeCases } from "./cases/key-scope.js";
export { lifecycleCases } from "./cases/lifecycle.js";
export { listingCases } from "./cases/listing.js";
export { outageCases } from "./cases/outage.js";
export { reopenCases } from "./cases/reopen.js";
export { retentionCases } from "./cases/retention.js";
export { signalCases } from "./cases/signals.js";
export { twoHandleCases } from "./cases/two-handles.js";
export { valueCases } from "./cases/values.js";
export { type RunCaseOptions, runCase, type StoreContractOptions, storeContract } from "./contract.js";
export type { StoreHarness } from "./harness.js";
