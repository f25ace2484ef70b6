/** How the reader's own client finds the server of the story. */
import * as screen from "./screen.js";
import type { RunningServer } from "./server.js";

export function pointers({ url, token }: RunningServer): void {
  screen.title("Point a client at it");
  screen.fact("URL", url);
  screen.fact("token", token);
  screen.text("");
  screen.aside("a client that reads JSON (mcpServers):");
  const headers = { Authorization: `Bearer ${token}` };
  screen.quote(JSON.stringify({ mcpServers: { claimcheck: { type: "http", url, headers } } }, null, 2));
  screen.text("");
  screen.aside("by hand:");
  screen.quote(
    [
      `curl -s ${url} -H 'Authorization: Bearer ${token}' \\`,
      "  -H 'Content-Type: application/json' -H 'Accept: application/json, text/event-stream' \\",
      `  -d '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"curl","version":"1"}}}'`,
    ].join("\n"),
  );
  screen.text("");
}
