import { expect, it } from "vitest";
import { MAX_UNREAD_BYTES, watched } from "../../src/http/response-stream.js";

const KIB = "x".repeat(1024);

/** An event stream that its writer writes without looking whether anybody reads it, as the SDK does. */
function stream(type = "text/event-stream") {
  const encoder = new TextEncoder();
  let controller!: ReadableStreamDefaultController<Uint8Array>;
  const seen = { cancelled: false, done: 0, stalled: [] as Error[] };
  const body = new ReadableStream<Uint8Array>({
    start: (given) => {
      controller = given;
    },
    cancel: () => {
      seen.cancelled = true;
    },
  });
  const response = watched(new Response(body, { headers: { "content-type": type } }), {
    done: () => {
      seen.done += 1;
    },
    stalled: (error) => void seen.stalled.push(error),
  });
  const write = (text: string): void => {
    if (!seen.cancelled) controller.enqueue(encoder.encode(text));
  };
  return { response, seen, write, end: () => controller.close() };
}

const turn = () => new Promise((resolve) => setImmediate(resolve));

it("a reader that keeps up gets everything, however much that is", async () => {
  const { response, seen, write, end } = stream();
  const read = response.text();
  for (let kib = 0; kib < 5 * 1024; kib += 1) {
    write(KIB);
    if (kib % 100 === 0) await turn();
  }
  end();
  expect((await read).length).toBe(5 * 1024 * 1024);
  expect(seen).toEqual({ cancelled: false, done: 1, stalled: [] });
});

it("a reader that does not read is cut off, which is said once, and no more than the limit is kept for it", async () => {
  const { response, seen, write } = stream();
  for (let kib = 0; kib < 5 * 1024; kib += 1) {
    write(KIB);
    if (kib % 100 === 0) await turn();
  }
  await turn();
  expect(seen).toMatchObject({ cancelled: true, done: 1 });
  expect(seen.stalled.map(({ message }) => message)).toEqual([expect.stringContaining(String(MAX_UNREAD_BYTES))]);
  await expect(response.text()).rejects.toThrow("does not read");
});

it("one event may be larger than the limit", async () => {
  const { response, seen, write, end } = stream();
  write(KIB.repeat(3 * 1024));
  await turn();
  end();
  expect((await response.text()).length).toBe(3 * 1024 * 1024);
  expect(seen.stalled).toEqual([]);
});

it("a reader that gives up ends the stream at its source", async () => {
  const { response, seen } = stream();
  await response.body?.cancel();
  await turn();
  expect(seen).toEqual({ cancelled: true, done: 1, stalled: [] });
});

it("what is no event stream is left as it is", async () => {
  const { response, seen, write, end } = stream("application/json");
  write(KIB.repeat(3 * 1024));
  write(KIB);
  end();
  expect(seen.done).toBe(1);
  expect((await response.text()).length).toBe(3 * 1024 * 1024 + 1024);
});
