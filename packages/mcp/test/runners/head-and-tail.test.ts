import { expect, it } from "vitest";
import { HeadAndTail } from "../../src/runners/head-and-tail.js";

function kept(maxBytes: number, ...pieces: (string | Buffer)[]): HeadAndTail {
  const all = new HeadAndTail(maxBytes);
  for (const piece of pieces) all.append(Buffer.from(piece as string));
  return all;
}

const note = (dropped: number, max: number) =>
  `\n[… ${dropped} bytes of output dropped here; the limit is ${max} bytes …]\n`;

it("keeps everything up to the limit, however it comes", () => {
  expect(kept(6, "abc", "", "def").text()).toBe("abcdef");
  expect(kept(6, "abcdef").droppedBytes).toBe(0);
  expect(kept(6).text()).toBe("");
  const large = "x".repeat(100_000);
  expect(kept(100_000, large.slice(0, 5), large.slice(5)).text()).toBe(large);
});

it.each([1, 2, 3, 7, 26])("keeps head and tail beyond it, the same for pieces of %i bytes", (size) => {
  const text = "abcdefghijklmnopqrstuvwxyz";
  const pieces = text.match(new RegExp(`.{1,${size}}`, "g")) as string[];
  const all = kept(10, ...pieces);
  expect(all.text()).toBe(`abcde${note(16, 10)}vwxyz`);
  expect(all.droppedBytes).toBe(16);
});

it("splits no character, neither at the cut nor at the end so far", () => {
  expect(kept(7, "äöü", "äöü").text()).toBe(`ä${note(5, 7)}öü`);
  const half = Buffer.from("ü").subarray(0, 1);
  expect(kept(100, "ä", half).text()).toBe("ä");
});

it("keeps a limit of one byte", () => {
  expect(kept(1, "abc").text()).toBe(`${note(2, 1)}c`);
});

it("agrees with cutting the whole, for any pieces", () => {
  let seed = 7;
  const random = (below: number) => {
    seed = (seed * 1103515245 + 12345) % 2 ** 31;
    return seed % below;
  };
  for (let round = 0; round < 300; round += 1) {
    const maxBytes = 1 + random(40);
    const pieces = Array.from({ length: random(12) }, () => "0123456789".repeat(3).slice(0, random(30)));
    const whole = pieces.join("");
    const head = Math.floor(maxBytes / 2);
    const dropped = whole.length - maxBytes;
    const cut = `${whole.slice(0, head)}${note(dropped, maxBytes)}${whole.slice(whole.length - (maxBytes - head))}`;
    expect(kept(maxBytes, ...pieces).text()).toBe(dropped > 0 ? cut : whole);
  }
});
