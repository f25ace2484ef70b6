/** Everything that the rest of the package uses to run code and to show what came of it. */

export { Coalescer } from "./coalesce.js";
export { EngineRun, type RunEnd, type RunKernel, type RunRequest, startRun } from "./engine.js";
export { type AssignedKernel, Kernels, type KernelsOptions } from "./kernels.js";
export { type ContentBlock, type Omitted, type Rendering, type RenderLimits, renderOutputs } from "./render.js";
export { SharedKernel } from "./shared-kernel.js";
