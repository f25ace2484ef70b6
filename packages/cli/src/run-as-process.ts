/** The command as a process: its exit code, and an end even where something holds on. */
import { EXIT } from "./exit-codes.js";
import { main } from "./main.js";

/** A process that has ended its work is gone well before anybody who waits for it loses patience. */
const LINGER_MS = 500;
/** For a slow reader to take the last answers; after longer it is taken for one that has stopped reading. */
const LAST_WRITES_MS = 30_000;

/** Runs the command line that this process was started with. */
export async function runAsProcess(): Promise<void> {
  // Whoever read them has gone; what that means is decided where they are written for a purpose.
  for (const stream of [process.stdout, process.stderr]) stream.on("error", () => {});
  process.exitCode = await main(process.argv.slice(2));
  exitWhenWritten(performance.now() + LAST_WRITES_MS);
}

/**
 * Not process.exit at once: it cuts off what stdout has not taken yet. A process that nothing holds ends by itself
 * before this looks again, which is why one look that finds nothing to write proves nothing: the last write may just
 * have ended.
 */
function exitWhenWritten(deadline: number, hadWritten = false): void {
  const look = (): void => {
    const held = process.getActiveResourcesInfo();
    const isWriting = held.some((name) => name.endsWith("WriteWrap"));
    if ((isWriting || !hadWritten) && performance.now() < deadline) exitWhenWritten(deadline, !isWriting);
    else giveUp(held);
  };
  setTimeout(look, LINGER_MS).unref();
}

function giveUp(held: string[]): void {
  process.stderr.write(`claimcheck: still held open by ${held.join(", ")}; exiting\n`);
  process.exit(process.exitCode === EXIT.ok ? EXIT.failed : process.exitCode);
}
