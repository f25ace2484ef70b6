/** What a caller hears of its direct call before the answer, on the request's own stream: progress and log messages. */
import type { Log, LogLevel, SendProgress } from "@claimcheck/core";
import type { ServerContext } from "@modelcontextprotocol/server";
import type { Era } from "../dialects/dialect.js";
import { isLoud, LOG_METHOD, logParams, requestedLogLevel } from "../logging.js";
import type { Connection } from "../wire/connection.js";
import { envelopeOf } from "../wire/request.js";
import { GrowingProgress } from "./growing-progress.js";

export class DirectChannel {
  readonly #request: ServerContext["mcpReq"];
  readonly #connection: Connection;
  /** Zero and the empty string are tokens too. */
  readonly #token: string | number | undefined;
  readonly #era: Era;
  readonly #progress = new GrowingProgress();
  #isOver = false;

  constructor(request: ServerContext["mcpReq"], connection: Connection, era: Era) {
    this.#request = request;
    this.#connection = connection;
    this.#token = request._meta?.progressToken;
    this.#era = era;
  }

  /** For a caller that asked by a progress token (spec: `ProgressNotification`), and none after the answer. */
  readonly sendProgress: SendProgress = (current, { total, message } = {}) => {
    if (this.#token === undefined || this.#isOver) return false;
    const progress = this.#progress.next({ current, ...(message !== undefined && { message }) });
    if (progress === undefined) return false;
    const params = {
      progressToken: this.#token,
      progress,
      ...(total === undefined ? {} : { total }),
      ...(message === undefined ? {} : { message }),
    };
    // Losing one costs nothing: nobody hears of a stream that is gone.
    this.#request.notify({ method: "notifications/progress", params }).catch(() => {});
    return true;
  };

  readonly log: Log = (level, data, logger) => {
    const least = this.#leastLogLevel();
    if (this.#isOver || least === undefined || !isLoud(level, least)) return false;
    const params = logParams({ level, data, ...(logger !== undefined && { logger }) });
    return params !== null && this.#connection.notifySender(this.#request.id, LOG_METHOD, params);
  };

  #leastLogLevel(): LogLevel | undefined {
    return this.#era === "2026" ? requestedLogLevel(envelopeOf(this.#request)) : this.#connection.logLevel;
  }

  /** The call is about to be answered. */
  end(): void {
    this.#isOver = true;
  }
}
