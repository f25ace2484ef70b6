/** A client of the SDK's second generation that knows nothing of tasks: in either era it gets plain results, and is asked in the way of its era. */
import type { Client } from "@modelcontextprotocol/client";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { TRANSPORTS } from "../protocol/serving.js";
import { Open } from "./address.js";
import { connectSdkV2, ERAS } from "./sdk-v2.js";

describe.each(TRANSPORTS)("over %s", (name) => {
  describe.each(ERAS)("in the era of %s", (era) => {
    const open = new Open();
    let client: Client;
    beforeAll(async () => {
      ({ client } = await connectSdkV2(name, era, open));
      client.setRequestHandler("elicitation/create", async () => ({ action: "accept", content: { name: "Ada" } }));
    });
    afterAll(() => open.close());

    it("a tool that can be a task is not, and one that must be is refused", async () => {
      const called = await client.callTool({ name: "echo", arguments: { text: "dug" } });
      expect(called).toMatchObject({ structuredContent: { text: "dug" } });
      const code = era === "2025" ? -32601 : -32021;
      await expect(client.callTool({ name: "only_task" })).rejects.toMatchObject({ code });
    });

    it("a person is asked in the middle of a call, and before one, or the tool hears that nobody can be", async () => {
      const asked = await client.callTool({ name: "asks", arguments: { questions: ["Who?"] } });
      const first = await client.callTool({ name: "asks_first" });
      if (era === "2025" && name === "HTTP without sessions") {
        // A request of that era that stands alone says nothing of what its client can be asked.
        const why = expect.stringContaining("The client cannot be asked (elicitation/create): it did not declare");
        for (const result of [asked, first]) expect(result).toMatchObject({ isError: true, content: [{ text: why }] });
      } else {
        expect(asked).toMatchObject({ structuredContent: { names: ["Ada"] } });
        expect(first).toMatchObject({ structuredContent: { who: { action: "accept", content: { name: "Ada" } } } });
      }
    });

    it("an error of a tool is a result, and one of the protocol is raised", async () => {
      expect(await client.callTool({ name: "fails" })).toMatchObject({ isError: true });
      await expect(client.callTool({ name: "raises" })).rejects.toMatchObject({ code: -32042 });
    });
  });
});
