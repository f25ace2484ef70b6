/** The waiting limit of a direct call and the run limit of a run, on real kernels. */
import { afterAll, describe, expect, inject, test } from "vitest";
import { startExtraJupyter } from "../../../../test/services/jupyter.js";
import { callOf, gateIn, startLive, textFromKernel, textOf, WAYS, warmUp } from "./live-server.js";

// A server of its own: on a shared one, code may get a kernel that a server of another test has left behind.
const extra = await startExtraJupyter(inject("jupyter").python);
afterAll(() => extra.stop());
const { service } = extra;

/** One red pixel. */
const PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==";

/** Goes on for so long whatever interrupts it. */
const stubborn = (seconds: number): string => `
import time
print("begun", flush=True)
end = time.time() + ${seconds}
while time.time() < end:
    try:
        time.sleep(0.2)
    except KeyboardInterrupt:
        pass
print("stubborn to the end")
`;

describe.each(WAYS)("%s, called directly", (way) => {
  test("answers at its waiting limit with the outputs so far, and the run goes on and is collected", async () => {
    const live = await startLive(service);
    const client = await live.connect();
    const gate = gateIn(live);
    const code = `
import base64
from IPython.display import Image, display
for i in range(3): print("line", i)
display(Image(data=base64.b64decode("${PNG}")))
${gate.wait}
print("done")`;
    const { name, args, path } = await callOf(live, way, code);
    await warmUp(client, live, path);
    const first = await client.run(name, { ...args, timeout: 2 });
    expect(first.isError).toBeUndefined();
    expect(first.content.map((block) => (block.type === "text" ? block.text : block.mimeType))).toEqual([
      "line 0\nline 1\nline 2",
      "image/png",
      expect.stringMatching(/^\[still running after 2 s: the waiting limit of this call \(timeout\).*get_execution/),
    ]);
    expect(first.structuredContent).toMatchObject({ status: "still_running", limit: "timeout", execution_count: 2 });
    await gate.open();

    // The caller that comes back may be another connection.
    const other = await live.connect();
    const execution_id = first.structuredContent?.execution_id;
    const rest = await other.run("get_execution", { execution_id });
    expect(rest.structuredContent).toMatchObject({ status: "completed", execution_id });
    expect(textOf(rest)).toMatch(/^line 0\nline 1\nline 2\n[\s\S]*done$/);
  });
});

test("a run that outlived its call holds the next one up, and nothing interleaves", async () => {
  const live = await startLive(service);
  const client = await live.connect();
  await warmUp(client, live, undefined);
  const first = await client.run("execute_code", { code: stubborn(5), timeout: 2 });
  expect(first.structuredContent?.status).toBe("still_running");
  const next = await client.run("execute_code", { code: "print(1)", timeout: 30 });
  expect(next).toMatchObject({ content: [{ text: "1" }], structuredContent: { status: "completed" } });
  const { execution_id } = first.structuredContent ?? {};
  expect(textOf(await client.run("get_execution", { execution_id }))).toBe("begun\nstubborn to the end");
});

describe.each(["directly", "as a task"] as const)("the run limit, %s", (how) => {
  async function run(code: string, limits: Record<string, unknown>) {
    const live = await startLive(service);
    const client = await live.connect();
    const args = { code, ...limits };
    if (how === "directly") return { live, client, result: await client.run("execute_code", args) };
    const { taskId } = await client.start("execute_code", args);
    return { live, client, result: await client.collect(taskId) };
  }

  test("interrupts the run, and is named", async () => {
    const { live, client, result } = await run("print('begun')\nimport time; time.sleep(600)", { interrupt_after: 1 });
    expect(result).toMatchObject({
      isError: true,
      structuredContent: { status: "interrupted", limit: "interrupt_after" },
    });
    expect(textOf(result)).toMatch(
      /^begun\n[\s\S]*\[interrupted after 1 s: the run limit \(interrupt_after\) was reached\]$/,
    );
    expect(await textFromKernel(client, live, undefined, "'free'")).toBe("'free'");
  });

  test("also names itself when the code swallows the interrupt and ends", async () => {
    const { result } = await run("!sleep 600", { interrupt_after: 1 });
    expect(result).toMatchObject({
      isError: true,
      structuredContent: { status: "interrupted", limit: "interrupt_after" },
    });
  });

  test("says that the kernel ignores it, and what would help", async () => {
    const { result } = await run(stubborn(9), { interrupt_after: 1 });
    expect(result).toMatchObject({
      isError: true,
      structuredContent: { status: "still_running", limit: "interrupt_after" },
    });
    expect(textOf(result)).toMatch(/^begun\n[\s\S]*ignores that and stays busy. Restarting the kernel would end it/);
  });
});

test("a run limit holds although the call has long been answered", async () => {
  const live = await startLive(service);
  const client = await live.connect();
  await warmUp(client, live, undefined);
  const first = await client.run("execute_code", {
    code: "import time; time.sleep(600)",
    timeout: 2,
    interrupt_after: 3,
  });
  expect(first.structuredContent?.status).toBe("still_running");
  const { execution_id } = first.structuredContent ?? {};
  const rest = await client.run("get_execution", { execution_id });
  expect(rest.structuredContent).toMatchObject({ status: "interrupted", limit: "interrupt_after" });
});

test("a task has no waiting limit", async () => {
  const live = await startLive(service, { waitLimitMs: 500 });
  const client = await live.connect();
  const { taskId } = await client.start("execute_code", { code: "import time; time.sleep(2); 'done'", timeout: 1 });
  expect(await client.collect(taskId)).toMatchObject({ structuredContent: { status: "completed" } });
});

test("looking at a run and going away leaves the run alone", async () => {
  const live = await startLive(service);
  const client = await live.connect();
  const gate = gateIn(live);
  await warmUp(client, live, undefined);
  const code = `${gate.wait}\n'done'`;
  const { structuredContent } = await client.run("execute_code", { code, timeout: 2 });
  const { execution_id } = structuredContent ?? {};
  void client.request("tools/call", { name: "get_execution", arguments: { execution_id } }, "looking");
  await client.send({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: "looking" } });
  await gate.open();
  expect(textOf(await client.run("get_execution", { execution_id }))).toBe("'done'");
});

test("all output is shown on demand where the answer left some out", async () => {
  const live = await startLive(service);
  const client = await live.connect();
  const short = await client.run("execute_code", { code: "for i in range(5000): print(i)" });
  expect(textOf(short)).toMatch(/\[… \d+ lines, \d+ bytes not shown …\]/);
  const { execution_id, outputs_dropped } = short.structuredContent ?? {};
  expect(outputs_dropped?.lines).toBeGreaterThan(3_000);
  const full = await client.run("get_execution", { execution_id, full_output: "true" });
  expect(textOf(full)).toBe(Array.from({ length: 5000 }, (_, index) => index).join("\n"));
  expect(full.structuredContent?.outputs_dropped).toBeUndefined();
});

test("an execution that is unknown is refused", async () => {
  const live = await startLive(service);
  const client = await live.connect();
  const result = await client.run("get_execution", { execution_id: "exe_1" });
  expect(result).toMatchObject({
    isError: true,
    content: [{ text: expect.stringContaining("No execution has the id exe_1") }],
  });
});
