import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { KernelMessage } from "../../src/kernel/wire.js";
import {
  legacyProtocol,
  MalformedFrameError,
  V1_SUBPROTOCOL,
  v1Protocol,
  wireProtocol,
} from "../../src/kernel/wire.js";

const text = fc.string({ unit: "grapheme" });
// JSON knows no -0, and "__proto__" is no ordinary key of an object literal.
const json = fc
  .jsonValue({ noUnicodeString: false })
  .map((value) => JSON.parse(JSON.stringify(value).replaceAll("__proto__", "proto")) as unknown);
const object = fc.dictionary(text, json).map((value) => JSON.parse(JSON.stringify(value)) as Record<string, unknown>);
const header = fc.record({
  msg_id: text,
  msg_type: text,
  session: text,
  username: text,
  date: fc.constant("2026-11-30T10:00:00.000Z"),
  version: fc.constant("5.3"),
});
const message: fc.Arbitrary<KernelMessage> = fc.record({
  channel: fc.constantFrom("shell", "iopub", "control", "stdin"),
  header,
  parent_header: fc.oneof(header, fc.constant({})),
  metadata: object,
  content: object,
  buffers: fc.array(fc.uint8Array({ maxLength: 64 }), { maxLength: 4 }),
});

/** Buffers compare as plain bytes, whatever class carries them. */
function plain(value: KernelMessage): unknown {
  return { ...value, buffers: value.buffers.map((buffer) => [...buffer]) };
}

describe.each([
  ["v1", v1Protocol],
  ["legacy", legacyProtocol],
])("the %s protocol", (_name, protocol) => {
  test("gives back every message that it has encoded", () => {
    return fc.assert(
      fc.property(message, (original) => {
        expect(plain(protocol.decode(protocol.encode(original)))).toEqual(plain(original));
      }),
    );
  });

  test("reads a frame that lies anywhere in a larger buffer", () => {
    return fc.assert(
      fc.property(message, fc.nat(20), (original, shift) => {
        const frame = protocol.encode(original);
        if (typeof frame === "string") return;
        const pool = new Uint8Array(frame.length + 2 * shift).fill(0xff);
        pool.set(frame, shift);
        expect(plain(protocol.decode(pool.subarray(shift, shift + frame.length)))).toEqual(plain(original));
      }),
    );
  });

  test("refuses a cut frame, or reads a whole message, but never fails in another way", () => {
    return fc.assert(
      fc.property(message, fc.double({ min: 0, max: 1, noNaN: true }), (original, part) => {
        const frame = protocol.encode(original);
        decodesOrRefuses(() => protocol.decode(frame.slice(0, Math.floor(frame.length * part))));
      }),
    );
  });

  test("refuses arbitrary bytes without failing in another way", () => {
    return fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => decodesOrRefuses(() => protocol.decode(bytes))),
    );
  });
});

function decodesOrRefuses(decode: () => KernelMessage): void {
  try {
    expect(decode().header.msg_id).toBeTypeOf("string");
  } catch (error) {
    expect(error).toBeInstanceOf(MalformedFrameError);
  }
}

/** What jupyter_server's serialize_msg_to_ws_v1 writes, laid out by hand. */
function v1Frame(...parts: string[]): Buffer {
  const offsets = [8 * (parts.length + 2)];
  for (const part of parts) offsets.push((offsets.at(-1) ?? 0) + Buffer.byteLength(part));
  const words = [offsets.length, ...offsets].map((word) => {
    const bytes = Buffer.alloc(8);
    bytes.writeUInt32LE(word);
    return bytes;
  });
  return Buffer.concat([...words, ...parts.map((part) => Buffer.from(part))]);
}

describe("frames as a Jupyter server writes them", () => {
  const head = '{"msg_id":"m1","msg_type":"stream","session":"k","username":"u","date":"d","version":"5.3"}';

  test("a v1 frame is read at the offsets that it announces", () => {
    const read = v1Protocol.decode(v1Frame("iopub", head, "{}", "{}", '{"name":"stdout","text":"é🙂"}', "raw"));
    expect(read.channel).toBe("iopub");
    expect(read.content).toEqual({ name: "stdout", text: "é🙂" });
    expect(read.parent_header).toEqual({});
    expect(Buffer.from(read.buffers[0] ?? []).toString()).toBe("raw");
  });

  test("NaN and Infinity of Python's JSON become null, and stay text inside strings", () => {
    const content = '{"a":NaN,"b":[-Infinity,1],"text":"NaN \\" Infinity"}';
    expect(v1Protocol.decode(v1Frame("iopub", head, "{}", "{}", content)).content).toEqual({
      a: null,
      b: [null, 1],
      text: 'NaN " Infinity',
    });
  });

  test("a lone surrogate survives as the escape that JSON has for it", () => {
    const original = v1Protocol.decode(v1Frame("shell", head, "{}", "{}", '{"code":"\\ud83d"}'));
    expect(v1Protocol.decode(v1Protocol.encode(original)).content).toEqual({ code: "\ud83d" });
  });

  test.each([
    ["an unknown channel", v1Frame("news", head, "{}", "{}", "{}")],
    ["a header without msg_id", v1Frame("iopub", "{}", "{}", "{}", "{}")],
    ["content that is a list", v1Frame("iopub", head, "{}", "{}", "[]")],
    ["a missing part", v1Frame("iopub", head, "{}", "{}")],
    ["no JSON", v1Frame("iopub", head, "{}", "{}", "nope")],
  ])("%s is refused", (_what, frame) => {
    expect(() => v1Protocol.decode(frame)).toThrow(MalformedFrameError);
  });

  test("an offset count beyond the frame is refused before anything is allocated for it", () => {
    const frame = v1Frame("iopub", head, "{}", "{}", "{}");
    frame.writeUInt32LE(0xff_ff_ff, 0);
    expect(() => v1Protocol.decode(frame)).toThrow(/offsets announced/);
  });
});

describe("wireProtocol", () => {
  test("is v1 when the server chose it, and legacy when it chose nothing", () => {
    expect(wireProtocol(V1_SUBPROTOCOL)).toBe(v1Protocol);
    expect(wireProtocol("")).toBe(legacyProtocol);
  });
});
