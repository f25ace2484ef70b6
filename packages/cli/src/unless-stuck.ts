/** Waiting for what may never come: Node ends a process that waits for nothing any more, and says nothing. */

/** What `work` comes to, or `error` when it has not settled and nothing is left that could settle it. */
export async function unlessStuck<T>(work: Promise<T>, error: () => Error): Promise<T> {
  let onNothingLeft = (): void => {};
  const stuck = new Promise<never>((_, reject) => {
    onNothingLeft = () => reject(error());
  });
  process.once("beforeExit", onNothingLeft);
  try {
    return await Promise.race([work, stuck]);
  } finally {
    process.off("beforeExit", onNothingLeft);
  }
}
