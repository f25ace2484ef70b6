import { isAbsolute, join } from "node:path";
import type { Host } from "./host.js";

/** The folder of what outlives a process of this user and is no configuration: task stores and private servers. */
export function stateDir(host: Pick<Host, "env" | "homeDir" | "platform">): string {
  const { env, platform } = host;
  // The XDG specification has a relative path ignored.
  const xdg = env.XDG_STATE_HOME;
  if (xdg !== undefined && isAbsolute(xdg)) return join(xdg, "claimcheck");
  if (platform === "win32") return join(env.LOCALAPPDATA ?? join(host.homeDir, "AppData", "Local"), "claimcheck");
  if (platform === "darwin") return join(host.homeDir, "Library", "Application Support", "claimcheck");
  return join(host.homeDir, ".local", "state", "claimcheck");
}
