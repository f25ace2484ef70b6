import { Brand } from "@claimcheck/core";

/**
 * What can go wrong before a private Jupyter Server answers:
 *
 * | code | meaning |
 * | --- | --- |
 * | `no_python` | no Python to build an environment with, or the one that was named is unusable |
 * | `install_failed` | the environment could not be created, or a package not installed |
 * | `start_failed` | the server ended, or did not answer in time |
 */
export type PrivateServerErrorCode = "no_python" | "install_failed" | "start_failed";

const brand = new Brand<PrivateServerError>("PrivateServerError");

/** A private server that is not there; the message names the cause and what helps. */
export class PrivateServerError extends Error {
  override readonly name = "PrivateServerError";
  readonly code: PrivateServerErrorCode;

  constructor(code: PrivateServerErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
    brand.mark(this);
  }

  /** Recognises the error of another copy of this package too. */
  static readonly is: (error: unknown) => error is PrivateServerError = brand.isOn;
}
