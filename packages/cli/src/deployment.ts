/**
 * Which servers are one deployment: those of one installation that keep their tasks in one store. Two that only look alike, as
 * on two machines with the same user and paths, must not be taken for one: they would share variables on a common Jupyter Server.
 */
import { createHash, randomUUID } from "node:crypto";
import { link, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describeError, type Logger } from "@claimcheck/core";
import type { JupyterSettings } from "./jupyter-settings.js";
import { type StorePlace, storeName } from "./store.js";

/** The deployment's name; undefined for a server that comes back to nothing, or where its installation cannot be named. */
export async function deploymentOf(
  { store, stateDir }: Pick<JupyterSettings, "store" | "stateDir">,
  place: StorePlace,
  logger: Logger,
): Promise<string | undefined> {
  if (store === "memory") return undefined;
  try {
    const parts = JSON.stringify([await installationId(stateDir), storeName(store, place)]);
    return createHash("sha256").update(parts).digest("hex");
  } catch (error) {
    logger.warn(
      { error: describeError(error) },
      "a kernel that this server leaves when it is killed is not found again",
    );
    return undefined;
  }
}

/** Made once, at random, and kept: of several processes that begin at once, one makes it. */
async function installationId(stateDir: string): Promise<string> {
  const file = join(stateDir, "installation");
  const known = await readFile(file, "utf8").catch(absent);
  if (known !== undefined) return known;
  await mkdir(stateDir, { recursive: true, mode: 0o700 });
  const draft = `${file}.${randomUUID()}`;
  try {
    await writeFile(draft, randomUUID(), { mode: 0o600 });
    await link(draft, file).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== "EEXIST") throw error;
    });
  } finally {
    await rm(draft, { force: true });
  }
  return await readFile(file, "utf8");
}

function absent(error: NodeJS.ErrnoException): undefined {
  if (error.code !== "ENOENT") throw error;
}
