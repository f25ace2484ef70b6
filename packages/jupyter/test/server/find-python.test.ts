import { chmod, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { findJupyter } from "../../src/server/find-python.js";

let dir: string;

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "claimcheck-find-"));
});

afterEach(async () => {
  await rm(dir, { recursive: true, force: true });
});

/** A Python that describes its Jupyter as told. */
async function fakePython(path: string, version: string, kernels = '[{"language": "python"}]'): Promise<string> {
  const file = join(dir, path);
  await mkdir(join(file, ".."), { recursive: true });
  await writeFile(file, `#!/bin/sh\necho '${version}'\necho '${kernels}'\n`);
  await chmod(file, 0o755);
  return file;
}

test("the named Python comes before the active environment, and that before the path", async () => {
  const named = await fakePython("named/python", "2.21.1");
  const active = await fakePython("venv/bin/python", "2.20.0");
  await fakePython("bin/python3", "2.19.0");
  const path = { PATH: join(dir, "bin") };
  const environment = { ...path, VIRTUAL_ENV: join(dir, "venv") };
  expect(await findJupyter({ ...environment, JUPYTER_PYTHON: named })).toEqual({
    command: [named, "-m", "jupyter_server"],
    version: "2.21.1",
  });
  expect(await findJupyter(environment)).toMatchObject({
    command: [active, "-m", "jupyter_server"],
    version: "2.20.0",
  });
  expect(await findJupyter(path)).toMatchObject({ command: ["python3", "-m", "jupyter_server"], version: "2.19.0" });
});

test.each([
  ["too old", "1.23.3", undefined],
  ["without any kernel", "2.21.1", "[]"],
  ["no server", "Traceback: no module named jupyter_server", undefined],
])("one that is %s is passed over", async (_why, version, kernels) => {
  await fakePython("bin/python3", version, kernels);
  expect(await findJupyter({ PATH: join(dir, "bin") })).toBeUndefined();
});

test("a named Python that will not do is an error that names it, although another would do", async () => {
  const named = await fakePython("named/python", "1.0.0");
  await fakePython("bin/python3", "2.21.1");
  await expect(findJupyter({ PATH: join(dir, "bin"), JUPYTER_PYTHON: named })).rejects.toMatchObject({
    code: "no_python",
    message: expect.stringMatching(`${named}.*pip install jupyter_server ipykernel`),
  });
  const missing = join(dir, "missing/python");
  await expect(findJupyter({ PATH: join(dir, "bin"), JUPYTER_PYTHON: missing })).rejects.toMatchObject({
    code: "no_python",
    message: expect.stringContaining(`${missing}, and there is no such file`),
  });
});
