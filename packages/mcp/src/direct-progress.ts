/** How far a direct call has come, told to its caller if it asked by a progress token (spec: `ProgressNotification`). */
import type { SendProgress } from "@claimcheck/core";
import type { ServerContext } from "@modelcontextprotocol/server";

export class DirectProgress {
  readonly #request: ServerContext["mcpReq"];
  /** Zero and the empty string are tokens too. */
  readonly #token: string | number | undefined;
  #last = Number.NEGATIVE_INFINITY;
  #isOver = false;

  constructor(request: ServerContext["mcpReq"]) {
    this.#request = request;
    this.#token = request._meta?.progressToken;
  }

  /** The protocol wants progress to grow, and none after the answer. */
  readonly send: SendProgress = (current, { total, message } = {}) => {
    if (this.#token === undefined || this.#isOver || !(current > this.#last)) return false;
    this.#last = current;
    const params = {
      progressToken: this.#token,
      progress: current,
      ...(total === undefined ? {} : { total }),
      ...(message === undefined ? {} : { message }),
    };
    // Losing one costs nothing: nobody hears of a stream that is gone.
    this.#request.notify({ method: "notifications/progress", params }).catch(() => {});
    return true;
  };

  /** The call is about to be answered. */
  end(): void {
    this.#isOver = true;
  }
}
