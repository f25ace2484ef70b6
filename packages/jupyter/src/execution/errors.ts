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

const BRAND = Symbol.for("claimcheck.KernelError");

/** There is no kernel to run on. The message says which there are. */
export class KernelError extends Error {
  override readonly name = "KernelError";
  readonly code: KernelErrorCode;

  constructor(code: KernelErrorCode, message: string, options: { cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    Object.defineProperty(this, BRAND, { value: true });
  }

  /** Recognises the error of another copy of this package too. */
  static is(error: unknown): error is KernelError {
    return typeof error === "object" && error !== null && (error as Record<symbol, unknown>)[BRAND] === true;
  }
}
