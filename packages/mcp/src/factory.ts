/** What makes the servers that are served. */
import { describeError, type Logger } from "@claimcheck/core";
import type { McpServerFactory } from "@modelcontextprotocol/server";

/** @throws TypeError for a server in place of what makes one: each connection needs its own */
export function checkFactory(of: string, factory: unknown): void {
  if (typeof factory === "function") return;
  throw new TypeError(`${of} takes a function that makes an McpServer, called for each connection: () => server.`);
}

/**
 * `factory`, whose failures are logged: its client is told no more than that the server has an error. Requests that fail
 * one after another for the same reason are one line.
 */
export function loggedFactory(factory: McpServerFactory, logger: Logger): McpServerFactory {
  let lastReason: string | undefined;
  return async (context) => {
    try {
      const server = await factory(context);
      lastReason = undefined;
      return server;
    } catch (error) {
      const reason = describeError(error);
      if (reason !== lastReason) logger.error({ error: reason }, "no server could be made: its factory failed");
      lastReason = reason;
      throw error;
    }
  };
}
