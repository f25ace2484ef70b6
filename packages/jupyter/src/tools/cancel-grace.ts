/**
 * How long cancelling waits for a run to stop: a little longer than the kernel's interrupts take to be found ignored, so
 * that a task never says less than what is known.
 */
export const CANCEL_GRACE_MS = 7_000;
