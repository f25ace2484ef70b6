/** Servers end with the process that started them, also where that is killed and tidies nothing up. */
import { spawn } from "node:child_process";
import type { Socket } from "node:net";

/**
 * Has `sh` run `script`, with `args` as `$1` and so on, once this process is gone or `release` is called: its stdin ends then,
 * however that came about. A group of its own, so that an interrupt from the keyboard leaves it alone.
 *
 * @returns release
 */
export function whenGone(script: string, ...args: string[]): () => void {
  const keeper = spawn("sh", ["-c", `cat > /dev/null; ${script}`, "sh", ...args], {
    cwd: "/",
    detached: true,
    stdio: ["pipe", "ignore", "ignore"],
  });
  // Nothing that is written, and nothing that keeps this process alive.
  keeper.on("error", () => {});
  keeper.stdin.on("error", () => {});
  keeper.unref();
  (keeper.stdin as Socket).unref();
  return () => void keeper.stdin.end();
}
