/** What a model is shown of what real code produces. */
import { beforeAll, expect, inject, test } from "vitest";
import { eventually } from "../../../../test/fixtures/eventually.js";
import { type Live, type LiveClient, startLive, textOf } from "./live-server.js";

const service = inject("jupyter");
let live: Live;
let client: LiveClient;

beforeAll(async () => {
  live = await startLive(service, {}, {}, "file");
  client = await live.connect();
});

test.each([
  ["markdown", 'from IPython.display import Markdown\nMarkdown("# hi")', "# hi"],
  ["latex", 'from IPython.display import Latex\nLatex("$x$")', "$x$"],
  ["JSON", 'from IPython.display import JSON\nJSON({"a": 1})', '{\n  "a": 1\n}'],
  ["a progress bar", 'for i in range(101): print(f"\\r{i}%", end="", flush=i % 10 == 0)', "100%"],
  ["a carriage return", 'print("11111", end="\\r"); print(2)', "21111"],
  ["a backspace", 'print("ab\\bc")', "ac"],
  [
    "escapes of terminals",
    'print("\\x1b[2K\\x1b[1Ax\\x1b]8;;http://e\\x07L\\x1b]8;;\\x07 \\x1b[31mr\\x1b[0m")',
    "xL r",
  ],
  [
    "an escape in two messages",
    'import time\nprint("\\x1b[3", end="", flush=True); time.sleep(0.5)\nprint("1mred\\x1b[0m")',
    "red",
  ],
  ["standard error", "import sys; print('o', flush=True); print('e', file=sys.stderr)", "o\n[stderr]\ne"],
  [
    "what is cleared",
    "from IPython.display import clear_output\nprint('old'); clear_output(wait=True); print('new')",
    "new",
  ],
  ["nothing", "x = 1", "[no output]"],
])("%s", async (_, code, text) => {
  expect(textOf(await client.run("execute_code", { code }))).toBe(text);
});

test("an image is image content, and structured content names it without its data", async () => {
  const png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==";
  const code = `import base64\nfrom IPython.display import Image\nImage(data=base64.b64decode("${png}"))`;
  const { content, structuredContent } = await client.run("execute_code", { code });
  expect(content).toEqual([{ type: "image", data: png, mimeType: "image/png" }]);
  expect(structuredContent?.output).toBe("[image/png, in the content]");
});

test("structured content has the text as well, for clients that show a model nothing else", async () => {
  const { structuredContent } = await client.run("execute_code", { code: "print('a'); 1 / 0" });
  expect(structuredContent).toMatchObject({
    status: "errored",
    error: { ename: "ZeroDivisionError", evalue: "division by zero" },
  });
  expect(structuredContent?.output).toMatch(/^a\n[\s\S]*ZeroDivisionError/);
});

test("questions of the code fail at once, and say so", async () => {
  const result = await client.run("execute_code", { code: "input('name? ')" });
  expect(result).toMatchObject({ isError: true, structuredContent: { error: { ename: "StdinNotImplementedError" } } });
});

test("output that the server dropped is not passed over in silence", async () => {
  const code = "import sys\nfor i in range(12):\n    print('x' * 1_000_000)\n    sys.stdout.flush()";
  const result = await client.run("execute_code", { code });
  expect(result.structuredContent?.incomplete).toContain("rateLimited");
  expect(textOf(result)).toContain("iopub_data_rate_limit");
});

test("output of a thread that goes on after the cell's end is found by the execution's id", async () => {
  const code =
    "import threading, time\ndef late():\n    time.sleep(0.5)\n    print('late')\nthreading.Thread(target=late).start()\nprint('in time')";
  const { structuredContent } = await client.run("execute_code", { code });
  const { execution_id } = structuredContent ?? {};
  await eventually(async () => textOf(await client.run("get_execution", { execution_id })) === "in time\nlate");
});
