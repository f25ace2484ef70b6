/**
 * Which outputs show a display id. Any later cell of the kernel may update a display, so one registry serves a kernel.
 */

/** An output that can be updated. */
export interface DisplayTarget {
  /** Shows `content` (`data` and `metadata` of an `update_display_data`) instead of what it shows now. */
  update(content: Record<string, unknown>): void;
}

/** A loop that makes displays for ever must not hold all of them; the ones not touched for longest are forgotten. */
const MAX_DISPLAY_IDS = 1_000;

/** @see the file comment */
export class DisplayRegistry {
  readonly #targets = new Map<string, Set<DisplayTarget>>();

  add(displayId: string, target: DisplayTarget): void {
    const targets = this.#targets.get(displayId) ?? new Set();
    this.#targets.delete(displayId);
    this.#targets.set(displayId, targets.add(target));
    for (const oldest of this.#targets.keys()) {
      if (this.#targets.size <= MAX_DISPLAY_IDS) break;
      this.#targets.delete(oldest);
    }
  }

  remove(displayId: string, target: DisplayTarget): void {
    const targets = this.#targets.get(displayId);
    targets?.delete(target);
    if (targets?.size === 0) this.#targets.delete(displayId);
  }

  /** Updates every output with this display id. An id that nothing shows is not an error: the output was cleared. */
  update(displayId: string, content: Record<string, unknown>): void {
    for (const target of this.#targets.get(displayId) ?? []) target.update(content);
  }

  /** Forgets everything: after a restart the kernel knows no display any more. */
  clear(): void {
    this.#targets.clear();
  }
}
