import { mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { ensureEnvironment } from "../../src/server/environment.js";

let dir: string;

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "claimcheck-environment-"));
});

afterEach(async () => {
  await rm(dir, { recursive: true, force: true });
});

test("a machine without Python is told what to install, and nothing is left behind", async () => {
  const environment = { dir: join(dir, "env"), requirements: ["x"], basePython: join(dir, "no-python") };
  await expect(ensureEnvironment(environment)).rejects.toMatchObject({
    code: "no_python",
    message: expect.stringMatching(/Python 3\.10 or newer.*JUPYTER_PYTHON.*JUPYTER_URL/s),
  });
  expect(await readdir(dir)).toEqual([]);
});

test("a failed step is reported with its command and its last words", async () => {
  const fake = join(dir, "python");
  await writeFile(fake, '#!/bin/sh\n[ "$1" = -c ] && exit 0\necho "no module named venv" >&2; exit 1\n', {
    mode: 0o755,
  });
  await expect(
    ensureEnvironment({ dir: join(dir, "env"), requirements: ["x"], basePython: fake }),
  ).rejects.toMatchObject({
    code: "install_failed",
    message: expect.stringMatching(/-m venv .*exit code 1.*no module named venv/s),
  });
});

test("an installation is told in steps, without the lines that pip prints for each package", async () => {
  const fake = join(dir, "python");
  await writeFile(fake, FAKE_PYTHON, { mode: 0o755 });
  const steps: string[] = [];
  const onProgress = (line: string) => void steps.push(line);
  await ensureEnvironment({ dir: join(dir, "env"), requirements: ["x==1"], basePython: fake, onProgress });
  expect(steps).toEqual([
    `creating a Python environment in ${join(dir, "env")}`,
    expect.stringMatching(/^installing x==1 with pip/),
  ]);
});

/** `python -m venv DIR` makes a copy of itself, and its pip prints as the real one does. */
const FAKE_PYTHON = `#!/bin/sh
[ "$2" = venv ] && mkdir -p "$3/bin" && cp "$0" "$3/bin/python"
[ "$2" = pip ] && printf 'Collecting x\\n  Downloading x.whl\\nSuccessfully installed x\\n'
exit 0
`;
