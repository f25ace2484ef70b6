import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { costGrowth } from "../../../../test/fixtures/growth.js";
import { cutOutput } from "../../src/execution/mime-bundle.js";
import { type RenderLimits, renderOutputs } from "../../src/execution/render.js";
import type { CellOutput, MimeBundle } from "../../src/notebook/nbformat.js";

const PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const HTML_REPR = "<IPython.core.display.HTML object>";

const stdout = (text: string | string[]): CellOutput => ({ output_type: "stream", name: "stdout", text });
const stderr = (text: string): CellOutput => ({ output_type: "stream", name: "stderr", text });
const display = (data: MimeBundle): CellOutput => ({ output_type: "display_data", data, metadata: {} });
const result = (data: MimeBundle): CellOutput => ({
  output_type: "execute_result",
  execution_count: 1,
  data,
  metadata: {},
});

function contentOf(...outputs: CellOutput[]) {
  return renderOutputs(outputs).content;
}
function textsOf(outputs: CellOutput[], limits: Partial<RenderLimits> = {}) {
  return renderOutputs(outputs, limits).content.map((block) => (block.type === "text" ? block.text : block.mimeType));
}

describe("streams", () => {
  it("are text, and stderr is told apart", () => {
    expect(textsOf([stdout("a\nb\n"), stderr("warning\n"), stdout("c")])).toEqual(["a\nb", "[stderr]\nwarning", "c"]);
  });

  it("have no escapes, and show what a terminal would, even when another program saved them raw", () => {
    expect(textsOf([stdout("\u001b[31mred\u001b[0m \u001b]8;;http://e\u0007L\u001b]8;;\u0007")])).toEqual(["red L"]);
    expect(textsOf([stdout(["\r10%", "\r100%\n", "next\n"])])).toEqual(["100%\nnext"]);
  });
});

describe("a run without output", () => {
  it("says so", () => {
    expect(renderOutputs([])).toEqual({ content: [{ type: "text", text: "[no output]" }], omitted: undefined });
    expect(textsOf([stdout("\n")])).toEqual(["[no output]"]);
  });
});

describe("a bundle", () => {
  it.each([
    ["markdown", { "text/plain": "<IPython.core.display.Markdown object>", "text/markdown": "# hi" }, "# hi"],
    ["LaTeX", { "text/plain": "<IPython.core.display.Latex object>", "text/latex": ["$x$"] }, "$x$"],
    ["JSON", { "text/plain": "<IPython.core.display.JSON object>", "application/json": { a: 1 } }, '{\n  "a": 1\n}'],
    ["plain text beside HTML", { "text/plain": "  a\n0  1", "text/html": "<table>…</table>" }, "  a\n0  1"],
    ["HTML alone", { "text/plain": HTML_REPR, "text/html": "<b>x</b>" }, "[html, 8 bytes, as text]\nx"],
    ["HTML without text", { "text/html": "<script>1</script>" }, "[html, 18 bytes]"],
    ["SVG", { "text/plain": "<IPython.core.display.SVG object>", "image/svg+xml": "<svg/>" }, "<svg/>"],
    ["any other text", { "text/x-diff": "+a" }, "+a"],
    ["a bare name when there is nothing else", { "text/plain": "<__main__.A at 0x7f00>" }, "<__main__.A at 0x7f00>"],
    [
      "what it cannot show",
      { "application/pdf": "JVBERi0=", "a/b": "é" },
      "[application/pdf, 5 bytes; a/b, 2 bytes, not shown]",
    ],
    [
      "that a widget is not shown",
      { "text/plain": "IntSlider(value=7)", "application/vnd.jupyter.widget-view+json": { model_id: "m" } },
      "[widget, not shown] IntSlider(value=7)",
    ],
  ])("shows %s", (_, data, text) => {
    expect(textsOf([result(data)])).toEqual([text]);
  });

  it.each(["image/png", "image/jpeg", "image/gif", "image/webp"])("shows %s as an image", (mimeType) => {
    const data = {
      [mimeType]: [`${PNG.slice(0, 20)}\n`, PNG.slice(20)],
      "text/plain": "<IPython.core.display.Image object>",
    };
    expect(contentOf(display(data))).toEqual([{ type: "image", data: PNG, mimeType }]);
  });

  it("keeps an image's caption where it says something", () => {
    expect(contentOf(display({ "image/png": PNG, "text/plain": "<Figure size 640x480 with 1 Axes>" }))).toEqual([
      { type: "image", data: PNG, mimeType: "image/png" },
      { type: "text", text: "<Figure size 640x480 with 1 Axes>" },
    ]);
  });

  it("has no base64 in its text", () => {
    const uri = `data:image/png;base64,${PNG}`;
    const texts = textsOf([
      display({ "text/markdown": `before ![](${uri}) after` }),
      display({ "image/svg+xml": `<svg><image href="${uri}"/></svg>` }),
      display({ "application/json": { uri } }),
      display({ "application/octet-stream": PNG }),
    ]);
    expect(texts[0]).toBe("before ![]([image/png, 70 bytes]) after");
    expect(texts.join()).not.toContain(PNG.slice(0, 40));
  });

  it("that is no image is not passed off as one", () => {
    expect(textsOf([display({ "image/png": "not base64!" })])).toEqual(["[image/png, 11 bytes, not shown]"]);
  });
});

describe("HTML", () => {
  const textOf = (html: string) => textsOf([display({ "text/html": html })])[0]?.replace(/^\[.*\]\n/, "");

  it("becomes its text, table cells and lines apart", () => {
    expect(textOf("<table><tr><th>a</th><th>b</th></tr>\n<tr><td>1</td><td>2</td></tr></table>")).toBe("a\tb\n1\t2");
    expect(textOf("<p>One &amp; two&#33;<br>three &unknown; &#x41;</p><!-- no --><style>p{}</style>1 < 2")).toBe(
      "One & two!\nthree &unknown; A\n1 < 2",
    );
  });

  it.each(["<script", "<a ", "<!--", "</td>", "&#1", "\n ", "<"])(
    "costs its length where it is %j",
    async (hostile) => {
      const growth = await costGrowth(5_000, 100_000, (times) => void textOf(hostile.repeat(times)));
      expect(growth).toBeLessThan(5);
    },
  );
});

describe("an error", () => {
  it("is its traceback without colours, or its name and value", () => {
    const error = { output_type: "error" as const, ename: "E", evalue: "v" };
    expect(textsOf([{ ...error, traceback: ["\u001b[31mTraceback\u001b[0m", "E: v"] }])).toEqual(["Traceback\nE: v"]);
    expect(textsOf([{ ...error, traceback: [] }])).toEqual(["E: v"]);
  });
});

describe("the budget", () => {
  it("keeps the head and the tail of an output, and counts what is between", () => {
    const lines = Array.from({ length: 5_000 }, (_, index) => `${index}\n`).join("");
    const { content, omitted } = renderOutputs([stdout(lines)]);
    const text = content[0]?.type === "text" ? content[0].text : "";
    expect(text.startsWith("0\n1\n")).toBe(true);
    expect(text.endsWith("4998\n4999")).toBe(true);
    expect(text).toContain("\n99\n[… 4800 lines, 23100 bytes not shown …]\n4900\n");
    expect(omitted).toEqual({ bytes: 900 * 4 + 3_900 * 5, lines: 4_800, images: 0 });
  });

  it("cuts between characters", () => {
    const [text = ""] = textsOf([stdout("é🙂".repeat(10_000))]);
    expect(text).toMatch(/^(é🙂)+é?\n\[… \d+ bytes not shown …\]\n🙂?(é🙂)+$/u);
  });

  it.each(["\u001b[31mx\u001b[0m", "\rx"])("costs the length of what there is, where that is %j", async (unit) => {
    const growth = await costGrowth(5_000, 100_000, (times) => void renderOutputs([stdout(unit.repeat(times))]));
    expect(growth).toBeLessThan(5);
  });

  it("is shared by the outputs, so that a short one is whole beside a long one", () => {
    const texts = textsOf(
      [stdout("x\n".repeat(5_000)), stderr("short"), display({ "text/plain": "y".repeat(50_000) })],
      {
        maxOutputBytes: 100_000,
        maxOutputLines: 100_000,
        maxTextBytes: 10_000,
      },
    );
    expect(texts[1]).toBe("[stderr]\nshort");
    for (const long of [texts[0], texts[2]]) expect(long?.length).toBeGreaterThan(4_000);
  });

  it("leaves out whole outputs in the middle when they are too many", () => {
    const many = Array.from({ length: 200 }, (_, index) => display({ "text/plain": `${index} ${"z".repeat(500)}` }));
    const texts = textsOf(many);
    expect(texts[0]).toMatch(/^0 z/);
    expect(texts.at(-1)).toMatch(/^199 z/);
    expect(texts.filter((text) => /^\[… 1\d\d outputs, \d+ bytes not shown …\]$/.test(text))).toHaveLength(1);
    expect(Buffer.byteLength(texts.join(""))).toBeLessThan(24 * 1_024 + 100);
  });

  it("does not leave out what fits", () => {
    const three = ["a", "b", "c"].map((text) => stdout(text.repeat(8_192)));
    expect(renderOutputs(three).omitted).toBeUndefined();
  });

  it("holds for images, the others being named", () => {
    const many = Array.from({ length: 50 }, () => display({ "image/png": PNG }));
    const { content, omitted } = renderOutputs(many);
    expect(content.filter((block) => block.type === "image")).toHaveLength(8);
    expect(
      content
        .slice(0, 4)
        .concat(content.slice(-4))
        .every((block) => block.type === "image"),
    ).toBe(true);
    expect(content[4]).toEqual({ type: "text", text: "[image/png, 70 bytes, not shown: more than 8 images]" });
    expect(omitted?.images).toBe(42);
    expect(textsOf([display({ "image/png": PNG })], { maxImageBytes: 10 })).toEqual([
      "[image/png, 70 bytes, not shown: larger than 10 bytes]",
    ]);
  });

  it("names what was not even kept", () => {
    expect(textsOf([stdout("a\n"), cutOutput({ bytes: 1_000, lines: 90 }), stdout("z\n")])).toEqual([
      "a",
      "[… 90 lines, 1000 bytes not kept …]",
      "z",
    ]);
  });

  it("adds up for any outputs and limits", () => {
    const text = fc.string({ unit: fc.constantFrom("a", "é", "\n", "🙂"), minLength: 1, maxLength: 300 });
    const limits = fc.record({
      maxOutputBytes: fc.integer({ min: 50, max: 400 }),
      maxOutputLines: fc.integer({ min: 2, max: 50 }),
      maxTextBytes: fc.integer({ min: 1_000, max: 3_000 }),
    });
    fc.assert(
      fc.property(fc.array(text, { minLength: 1, maxLength: 30 }), limits, (texts, each) => {
        const whole = texts.map((one, index) => `${index} ${one}`);
        const rendering = renderOutputs(
          whole.map((one) => display({ "text/plain": one })),
          each,
        );
        const shown = rendering.content.flatMap((block) =>
          block.type === "text" ? partsShown(block.text, whole) : [],
        );
        const bytes = Buffer.byteLength(shown.join(""));
        expect(bytes).toBeLessThanOrEqual(each.maxTextBytes);
        expect(bytes + (rendering.omitted?.bytes ?? 0)).toBe(Buffer.byteLength(whole.join("")));
      }),
    );
  });
});

/** The parts of a block that come from an output: a head that ends within a line is given a line end before the marker. */
function partsShown(text: string, whole: readonly string[]): string[] {
  const [before = "", after] = text.split(/\[….*?…\]\n?/);
  if (after === undefined) return [before];
  return [whole.some((one) => one.startsWith(before)) ? before : before.slice(0, -1), after];
}
