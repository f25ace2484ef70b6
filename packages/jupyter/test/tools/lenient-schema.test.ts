import { describe, expect, test } from "vitest";
import { z } from "zod";
import { lenient } from "../../src/tools/lenient-schema.js";

const schema = z.object({
  code: z.string(),
  cell_index: z.int().min(0).optional(),
  timeout: z.number().positive().optional(),
  stream: z.boolean().default(true),
  kernel_id: z.string().optional(),
});

async function take(value: unknown) {
  return await lenient(schema)["~standard"].validate(value);
}

async function taken(value: object): Promise<unknown> {
  const result = await take({ code: "1", ...value });
  if (result.issues !== undefined) throw new Error(result.issues.map(({ message }) => message).join());
  const { code: _code, stream, ...rest } = result.value;
  return stream ? rest : { ...rest, stream };
}

describe("arguments", () => {
  test.each([
    [{ cell_index: "3" }, { cell_index: 3 }],
    [{ cell_index: " 3 " }, { cell_index: 3 }],
    [{ timeout: "2.5" }, { timeout: 2.5 }],
    [{ timeout: "1e3" }, { timeout: 1000 }],
    [{ stream: "false" }, { stream: false }],
    [{ stream: "True" }, {}],
    [
      { cell_index: 3, timeout: 2.5, stream: false },
      { cell_index: 3, timeout: 2.5, stream: false },
    ],
  ])("%j is taken as it was meant", async (sent, meant) => {
    expect(await taken(sent)).toEqual(meant);
  });

  test.each([
    { cell_index: null },
    { cell_index: "" },
    { cell_index: "None" },
    { timeout: "null" },
    { stream: null },
    { kernel_id: null },
    { kernel_id: "" },
  ])("%j counts as left out", async (sent) => {
    expect(await taken(sent)).toEqual({});
  });

  test.each([
    { cell_index: "3.5" },
    { cell_index: "three" },
    { cell_index: "0x3" },
    { cell_index: "-1" },
    { cell_index: true },
    { timeout: "soon" },
    { timeout: "Infinity" },
    { stream: "yes" },
    { stream: 1 },
    { kernel_id: 7 },
  ])("%j can mean several things and is refused", async (sent) => {
    expect((await take({ code: "1", ...sent })).issues).toHaveLength(1);
  });

  test("text is left alone, whatever it looks like", async () => {
    expect(await take({ code: "3" })).toMatchObject({ value: { code: "3" } });
    expect(await taken({ kernel_id: "None" })).toEqual({ kernel_id: "None" });
  });

  test("what has to be there cannot be left out", async () => {
    expect((await take({ code: null })).issues).toHaveLength(1);
    expect(await take({ code: "" })).toMatchObject({ value: { code: "" } });
  });

  test.each([[null], [[]], ["text"], [7]])("%j is refused as no set of arguments", async (sent) => {
    expect((await take(sent)).issues).toHaveLength(1);
  });
});

test("clients are told the schema's own types", () => {
  const target = { target: "draft-2020-12" } as const;
  expect(lenient(schema)["~standard"].jsonSchema.input(target)).toEqual(schema["~standard"].jsonSchema.input(target));
});
