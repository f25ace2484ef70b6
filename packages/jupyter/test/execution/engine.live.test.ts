import { describe, expect, inject, it, onTestFinished } from "vitest";
import { type RunEnd, type RunRequest, SharedKernel, startRun } from "../../src/execution/index.js";
import { renderOutputs } from "../../src/execution/render.js";
import type { CellOutput } from "../../src/notebook/index.js";
import { restOf } from "../kernel/live-kernel.js";

const rest = restOf(inject("jupyter"));

async function newKernel(): Promise<SharedKernel> {
  const { id } = await rest.startKernel();
  onTestFinished(() => rest.deleteKernel(id).catch(() => {}));
  const kernel = await SharedKernel.connect({ rest, kernelId: id });
  onTestFinished(() => kernel.connection.close());
  return kernel;
}
function run(kernel: SharedKernel, code: string, more: Partial<RunRequest> = {}) {
  return startRun({ kernel, code, ...more });
}
const endOf = (kernel: SharedKernel, code: string): Promise<RunEnd> => run(kernel, code).ended;
const stream = (name: string, text: string) => ({ output_type: "stream", name, text });

/** Resolves with the outputs once they satisfy `is`. */
function outputsThat(is: (outputs: CellOutput[]) => boolean) {
  let settle: (outputs: CellOutput[]) => void = () => {};
  const seen = new Promise<CellOutput[]>((resolve) => {
    settle = resolve;
  });
  return { seen, onOutputs: (outputs: CellOutput[]) => void (is(outputs) && settle(outputs)) };
}

describe("a run on a real kernel", () => {
  it("keeps streams and result apart, as a notebook has them", async () => {
    const kernel = await newKernel();
    const end = await endOf(kernel, 'import sys; print("o"); sys.stdout.flush(); print("e", file=sys.stderr); 7');
    expect(end).toMatchObject({ state: "completed", executionCount: 1, queuedMs: expect.any(Number) });
    expect(end.outputs).toContainEqual(stream("stdout", "o\n"));
    expect(end.outputs).toContainEqual(stream("stderr", "e\n"));
    expect(end.outputs.at(-1)).toEqual({
      output_type: "execute_result",
      execution_count: 1,
      data: { "text/plain": "7" },
      metadata: {},
    });
    expect((await endOf(kernel, "x = 1")).outputs).toEqual([]);
  });

  it("shows what a terminal would show", async () => {
    const kernel = await newKernel();
    const bars = 'for i in range(101): print(f"\\r{i}%", end="", flush=True)';
    expect((await endOf(kernel, bars)).outputs).toEqual([stream("stdout", "100%")]);
    expect((await endOf(kernel, 'print("11111", end="\\r"); print(2)')).outputs).toEqual([stream("stdout", "21111\n")]);
    const escapes = 'print("\\x1b[2K\\x1b[1Ax\\x1b]8;;http://e\\x07L\\x1b]8;;\\x07 \\x1b[31mr\\x1b[0m")';
    const { outputs } = await endOf(kernel, escapes);
    expect(outputs).toEqual([stream("stdout", "xL \u001b[31mr\u001b[0m\n")]);
    expect(renderOutputs(outputs).content).toEqual([{ type: "text", text: "xL r" }]);
  });

  it("renders rich content by what it says", async () => {
    const kernel = await newKernel();
    const code = `
from IPython.display import display, Markdown, Latex, JSON, HTML, SVG, Image
display(Markdown("# hi"), Latex("$x$"), JSON({"a": 1}), HTML("<b>x</b>"), SVG('<svg xmlns="http://www.w3.org/2000/svg"/>'))
for format in ("png", "jpeg", "gif"): display(Image(data=b"x" * 90, format=format))
len?`;
    const { content } = renderOutputs((await endOf(kernel, code)).outputs);
    const shown = content.map((block) => (block.type === "text" ? block.text : block.mimeType));
    expect(shown.slice(0, 3)).toEqual(["# hi", "$x$", '{\n  "a": 1\n}']);
    expect(shown[3]).toBe("[html, 8 bytes, as text]\nx");
    expect(shown[4]).toContain("<svg");
    expect(shown.slice(5, 8)).toEqual(["image/png", "image/jpeg", "image/gif"]);
    expect(shown[8]).toContain("Return the number of items in a container");
  });

  it("survives half characters, and keeps whole ones", async () => {
    const kernel = await newKernel();
    expect((await endOf(kernel, 'print("é🙂" * 10_000)')).outputs).toEqual([
      stream("stdout", `${"é🙂".repeat(10_000)}\n`),
    ]);
    // ipykernel fails to send it, and says so; whatever comes instead has to be text that can be saved.
    const end = await endOf(kernel, 'print("a\\ud83db")');
    expect(end.state).toBe("completed");
    for (const output of end.outputs)
      expect(output.output_type === "stream" && String(output.text).isWellFormed()).toBe(true);
  });

  it("updates a display of an earlier run, and shows nothing itself", async () => {
    const kernel = await newKernel();
    const updated = outputsThat((outputs) => JSON.stringify(outputs).includes("'b'"));
    const first = await run(kernel, 'h = display("a", display_id="d")', updated).ended;
    expect(first.outputs).toEqual([{ output_type: "display_data", data: { "text/plain": "'a'" }, metadata: {} }]);
    expect((await endOf(kernel, 'h.update("b")')).outputs).toEqual([]);
    expect(await updated.seen).toEqual([{ output_type: "display_data", data: { "text/plain": "'b'" }, metadata: {} }]);
  });

  it("clears its outputs when told, at once or with the next", async () => {
    const kernel = await newKernel();
    const code = `
from IPython.display import clear_output
for i in range(3):
    clear_output(wait=True)
    print(i)`;
    expect((await endOf(kernel, code)).outputs).toEqual([stream("stdout", "2\n")]);
    expect((await endOf(kernel, 'print("x"); clear_output(); ')).outputs).toEqual([]);
  });

  it("keeps its outputs up to the moment at which it is interrupted, and is seen to stop", async () => {
    const kernel = await newKernel();
    const printed = outputsThat((outputs) => outputs.length > 0);
    const sleeping = run(kernel, 'print("begun", flush=True)\nimport time; time.sleep(60)', printed);
    expect(await printed.seen).toEqual([stream("stdout", "begun\n")]);
    expect(await sleeping.cancel()).toMatchObject({ outcome: "stopped", idleSeen: true });
    const end = await sleeping.ended;
    expect(end.state).toBe("interrupted");
    expect(end.outputs).toMatchObject([
      stream("stdout", "begun\n"),
      { output_type: "error", ename: "KeyboardInterrupt" },
    ]);
    expect((await endOf(kernel, "1 + 1")).state).toBe("completed");
  });

  it("that waits is cancelled without ever running, and the one before it goes on", async () => {
    const kernel = await newKernel();
    const first = run(kernel, "import time; time.sleep(1); ran = []");
    const second = run(kernel, "ran.append(2)");
    expect(await second.cancel()).toEqual({ outcome: "removed" });
    expect(await second.ended).toMatchObject({ state: "aborted", cause: "cancelled", ranMs: null });
    expect((await first.ended).state).toBe("completed");
    expect((await endOf(kernel, "ran")).outputs).toMatchObject([{ data: { "text/plain": "[]" } }]);
  });

  it("that kills its kernel keeps its outputs and says so in seconds", async () => {
    const kernel = await newKernel();
    const printed = outputsThat((outputs) => outputs.length > 0);
    const code = 'import os, signal, time; print("x", flush=True); time.sleep(1); os.kill(os.getpid(), signal.SIGKILL)';
    const end = await run(kernel, code, printed).ended;
    expect(end).toMatchObject({ state: "kernel_died", outputs: [stream("stdout", "x\n")] });
    expect(kernel.processes).toBeGreaterThan(0);
    expect(await endOf(kernel, "1")).toMatchObject({ state: "completed", executionCount: 1 });
  });

  it("counts from one after a restart", async () => {
    const kernel = await newKernel();
    for (const code of ["1", "2", "3"]) await endOf(kernel, code);
    await kernel.connection.restart();
    expect(await endOf(kernel, "1")).toMatchObject({ executionCount: 1, outputs: [{ execution_count: 1 }] });
  });

  it("hands on what a thread prints after its end, as late", async () => {
    const kernel = await newKernel();
    let late = false;
    const printed = outputsThat((outputs) => JSON.stringify(outputs).includes("late"));
    const code = `
import threading, time
def work():
    time.sleep(0.7)
    print("late")
threading.Thread(target=work).start()
print("now")`;
    const end = await run(kernel, code, {
      onOutputs: (outputs, isLate) => {
        late ||= isLate;
        printed.onOutputs(outputs);
      },
    }).ended;
    expect(end.outputs).toEqual([stream("stdout", "now\n")]);
    expect(await printed.seen).toEqual([stream("stdout", "now\nlate\n")]);
    expect(late).toBe(true);
  });

  it("of a great many lines is bounded, with an exact count of what is left out", async () => {
    const kernel = await newKernel();
    const end = await run(kernel, "for i in range(300_000): print(i)", { limits: { maxStreamBytes: 20_000 } }).ended;
    expect(end.state).toBe("completed");
    expect(JSON.stringify(end.outputs).length).toBeLessThan(40_000);
    const { omitted } = renderOutputs(end.outputs);
    expect(omitted?.lines).toBeGreaterThan(1_000);
  });
});
