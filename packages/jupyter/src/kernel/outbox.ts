/**
 * Requests on their way to the kernel. They wait here while there is nobody to send them to: no socket, or a kernel
 * between two processes.
 */
import type { Clock } from "@claimcheck/core";
import type { Link } from "./link.js";
import type { Route, Routes } from "./routes.js";
import type { KernelMessage } from "./wire.js";

export class Outbox {
  readonly #link: Link;
  readonly #routes: Routes;
  readonly #clock: Clock;
  #held: { route: Route; message: KernelMessage }[] = [];
  #downSince: number | undefined;

  /** @param routes where a request waits for its answers once it is sent */
  constructor(link: Link, routes: Routes, clock: Clock) {
    this.#link = link;
    this.#routes = routes;
    this.#clock = clock;
  }

  get canSend(): boolean {
    return this.#link.isUp && this.#downSince === undefined;
  }

  /** Since when the kernel is between two processes; undefined while it is not. */
  get downSince(): number | undefined {
    return this.#downSince;
  }

  post(route: Route, message: KernelMessage): void {
    if (this.canSend) {
      this.#routes.add(route);
      this.#link.send(message);
    } else {
      this.#held.push({ route, message });
    }
  }

  /** The kernel's process ends: nothing is sent until there is another. */
  goDown(): void {
    this.#downSince ??= this.#clock.now();
  }

  comeUp(): void {
    this.#downSince = undefined;
    this.flush();
  }

  /** Sends what waits, if it can be sent. */
  flush(): void {
    if (!this.canSend) return;
    for (const { route, message } of this.#takeAll()) this.post(route, message);
  }

  /** Takes back a request that has not been sent; false if it was. */
  takeBack(route: Route): boolean {
    const index = this.#held.findIndex((held) => held.route === route);
    if (index === -1) return false;
    this.#held.splice(index, 1);
    return true;
  }

  /** Takes back all that wait. */
  takeBackAll(): Route[] {
    return this.#takeAll().map(({ route }) => route);
  }

  #takeAll(): { route: Route; message: KernelMessage }[] {
    const held = this.#held;
    this.#held = [];
    return held;
  }
}
