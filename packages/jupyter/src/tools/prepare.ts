/** What a call waits for before there is a run: a Jupyter Server, and what the run needs of it. */
import { LATE, type ToolContext } from "@claimcheck/core";
import type { WaitLimit } from "./wait-limit.js";
import type { Site, Workbench } from "./workbench.js";

/** The server; a caller hears of what is done for one that has to be installed or started first. */
export async function siteFor(
  { sendProgress }: Pick<ToolContext, "sendProgress">,
  { site }: Pick<Workbench, "site">,
  onStep: (line: string) => void = () => {},
): Promise<Site> {
  return await site((line) => {
    onStep(line);
    sendProgress(0, { message: line });
  });
}

/**
 * What `prepare` makes of the server, for a plain call within its waiting limit: a call that its client has given up would say
 * nothing and run nothing. What was begun goes on for the next call. A task waits for as long as it takes.
 *
 * @throws Error when it is late, that nothing has run; what `site` and `prepare` throw
 */
export async function prepared<T>(
  ctx: Pick<ToolContext, "task" | "sendProgress">,
  bench: Pick<Workbench, "site">,
  waitLimit: WaitLimit,
  prepare: (site: Site) => Promise<T>,
): Promise<T> {
  if (ctx.task !== null) return await prepare(await siteFor(ctx, bench));
  let step: string | undefined;
  const site = await waitLimit.within(siteFor(ctx, bench, (line) => (step = line)));
  if (site === LATE) {
    const known = step === undefined ? "" : ` (${step})`;
    throw new Error(tooLate(`Jupyter is still being installed or started on this machine${known}`, waitLimit));
  }
  const ready = await waitLimit.within(prepare(site));
  if (ready === LATE) throw new Error(tooLate("The Jupyter Server has not got the kernel ready", waitLimit));
  return ready;
}

function tooLate(what: string, { ms }: WaitLimit): string {
  return `${what} after ${ms / 1000} s, the waiting limit of this call (timeout), and nothing has been run. Call again in a minute, or call as a task, which waits for it.`;
}
