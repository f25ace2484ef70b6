import { expect, inject, test } from "vitest";
import { startLive, textOf } from "./live-server.js";

const service = inject("jupyter");

test("code runs on a kernel of the server's own, whose variables last", async () => {
  const { connect } = await startLive(service);
  const client = await connect();
  expect(await client.run("execute_code", { code: "x = 6 * 7" })).toMatchObject({
    content: [{ type: "text", text: "[no output]" }],
    structuredContent: { status: "completed", execution_count: 1, kernel: { origin: "started" } },
  });
  const second = await client.run("execute_code", { code: "print('x is'); x" });
  expect(textOf(second)).toBe("x is\n42");
  expect(second.structuredContent).toMatchObject({
    status: "completed",
    execution_count: 2,
    kernel: { origin: "same" },
  });
});
