/** Everything that the rest of the package uses to run code and to show what came of it. */

export { Coalescer, type CoalescerOptions } from "./coalesce.js";
export { DisplayRegistry } from "./display-registry.js";
export { EngineRun, type RunEnd, type RunKernel, type RunRequest, startRun } from "./engine.js";
export { KernelError, type KernelErrorCode } from "./errors.js";
export { type AssignedKernel, Kernels, type KernelsOptions } from "./kernels.js";
export { CellOutputs, defaultOutputLimits, type OutputLimits } from "./outputs.js";
export {
  type ContentBlock,
  defaultRenderLimits,
  type Omitted,
  type Rendering,
  type RenderLimits,
  renderOutputs,
} from "./render.js";
export { SharedKernel } from "./shared-kernel.js";
