/**
 * What can be wrong with the choice of a kernel.
 *
 * | code | meaning |
 * | --- | --- |
 * | `unknown_kernelspec` | the server cannot start a kernel of this name |
 * | `kernel_not_found` | no kernel with this id runs on the server |
 * | `closed` | the kernels of this process have been closed |
 */
export type KernelErrorCode = "unknown_kernelspec" | "kernel_not_found" | "closed";

/** There is no kernel to run on. The message says which there are. */
export class KernelError extends Error {
  override readonly name = "KernelError";
  readonly code: KernelErrorCode;

  constructor(code: KernelErrorCode, message: string, options: { cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
  }
}
