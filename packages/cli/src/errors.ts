/** A command line or an environment that cannot be meant. The message says what would be right. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

/** Something that serving needs is not to be had. The message names it and the cause. */
export class StartError extends Error {
  override readonly name = "StartError";
}
