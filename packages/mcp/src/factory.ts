/** What makes the servers that are served. */

/** @throws TypeError for a server in place of what makes one: each connection needs its own */
export function checkFactory(of: string, factory: unknown): void {
  if (typeof factory === "function") return;
  throw new TypeError(`${of} takes a function that makes an McpServer, called for each connection: () => server.`);
}
