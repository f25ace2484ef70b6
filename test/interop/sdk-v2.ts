/** The SDK's client of the second generation, in either era, over each transport. */
import {
  Client,
  type ClientCapabilities,
  StreamableHTTPClientTransport,
  type Transport,
} from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { TASKS_EXTENSION } from "../protocol/client.js";
import type { TransportName } from "../protocol/serving.js";
import { type Address, addressOf, type Open } from "./address.js";

export const ERAS = ["2025", "2026"] as const;
export type Era = (typeof ERAS)[number];

export const CLIENT_INFO = { name: "sdk-v2", version: "0" };
export const CAPABILITIES = { elicitation: { form: {} } };
/** With the extension: what a client can read that does not leave the answers of calls to the SDK. */
export const TASK_CAPABILITIES = { ...CAPABILITIES, extensions: { [TASKS_EXTENSION]: {} } };

function transportTo(address: Address): Transport {
  switch (address.kind) {
    case "memory":
      return address.clientSide;
    case "stdio":
      return new StdioClientTransport(address);
    case "http":
      return new StreamableHTTPClientTransport(new URL(address.url), { requestInit: { headers: address.headers } });
  }
}

/** A connected client and the transport that it is connected by. */
export async function connectSdkV2(
  name: TransportName,
  era: Era,
  open: Open,
  capabilities: ClientCapabilities = CAPABILITIES,
): Promise<{ client: Client; transport: Transport }> {
  const transport = transportTo(await addressOf(name, open));
  const mode = era === "2025" ? "legacy" : { pin: "2026-07-28" };
  const client = new Client(CLIENT_INFO, { capabilities, versionNegotiation: { mode } });
  await client.connect(transport);
  open.add(() => client.close());
  return { client, transport };
}
