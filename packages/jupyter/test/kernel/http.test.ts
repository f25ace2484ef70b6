import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, test } from "vitest";
import { serverAddress } from "../../src/kernel/address.js";
import { JupyterError } from "../../src/kernel/errors.js";
import { JupyterRest } from "../../src/kernel/rest.js";

const TOKEN = "s3cr3t-t0ken";
let server: Server | undefined;

afterEach(async () => {
  server?.closeAllConnections();
  await new Promise((resolve) => (server === undefined ? resolve(undefined) : server.close(resolve)));
});

/** A server that answers as told: what a real one cannot be made to do. */
async function answering(
  handle: (request: IncomingMessage, response: ServerResponse) => void,
  timeoutMs = 30_000,
): Promise<JupyterRest> {
  server = createServer(handle);
  await new Promise<void>((resolve) => server?.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return new JupyterRest(serverAddress(`http://127.0.0.1:${port}/user/ann`, TOKEN), { timeoutMs });
}

async function failure(call: Promise<unknown>): Promise<JupyterError> {
  const error = await call.then(
    () => undefined,
    (cause: unknown) => cause,
  );
  if (!JupyterError.is(error)) throw new Error(`no JupyterError, but ${String(error)}`);
  expect(`${error.stack} ${String(error.cause)}`).not.toContain(TOKEN);
  return error;
}

describe("a failed call", () => {
  test.each([
    [401, "unauthorized", /JUPYTER_TOKEN/],
    [403, "unauthorized", /JUPYTER_TOKEN/],
    [404, "not_found", /base URL/],
    [409, "refused", /HTTP 409/],
    [500, "server_error", /HTTP 500/],
    [503, "server_error", /HTTP 503/],
  ])("with HTTP %i is %s", async (status, code, message) => {
    const rest = await answering((_, response) => response.writeHead(status).end("<html>"));
    const error = await failure(rest.listKernels());
    expect(error).toMatchObject({ code, status });
    expect(error.message).toMatch(message);
  });

  test("repeats what the server said", async () => {
    const rest = await answering((_, response) =>
      response.writeHead(404).end('{"message":"Kernel does not exist: x"}'),
    );
    expect((await failure(rest.getKernel("x"))).message).toContain("Kernel does not exist: x");
  });

  test("repeats what the server said in plain text that it calls JSON, as of a file that is not there", async () => {
    const rest = await answering((_, response) =>
      response
        .writeHead(404, { "content-type": "application/json" })
        .end("file or directory '/a.ipynb' does not exist\n"),
    );
    const { message } = await failure(rest.listKernels());
    expect(message).toMatch(/It said: file or directory '\/a\.ipynb' does not exist$/);
    expect(message).not.toContain("base URL");
  });

  test("that nobody answers is unreachable, with the reason", async () => {
    const rest = await answering(() => {});
    await new Promise((resolve) => server?.close(resolve));
    const error = await failure(rest.listKernels());
    expect(error.code).toBe("unreachable");
    expect(error.message).toMatch(/JUPYTER_URL/);
    expect(error.message).toMatch(/ECONNREFUSED/);
  });

  test("that gets no answer in time is unreachable", async () => {
    const rest = await answering(() => {}, 200);
    const error = await failure(rest.listKernels());
    expect(error.code).toBe("unreachable");
    expect(error.message).toMatch(/within 0\.2 s/);
  });

  test("that gets a web page is not_jupyter", async () => {
    const rest = await answering((_, response) => response.writeHead(200).end("<html>hello</html>"));
    expect((await failure(rest.listKernels())).code).toBe("not_jupyter");
  });

  test("that gets JSON of another kind is not_jupyter", async () => {
    const rest = await answering((_, response) => response.writeHead(200).end("[1]"));
    expect((await failure(rest.listKernels())).code).toBe("not_jupyter");
  });

  test("that is sent to a login page is unauthorized, elsewhere not_jupyter", async () => {
    const rest = await answering((request, response) =>
      response
        .writeHead(302, { location: request.method === "GET" ? "/hub/login?next=x" : "/other/api?token=x" })
        .end(),
    );
    expect((await failure(rest.listKernels())).code).toBe("unauthorized");
    const error = await failure(rest.startKernel());
    expect(error.code).toBe("not_jupyter");
    expect(error.message).toContain("/other/api.");
  });
});

test("the token is in the header of each call and in no URL", async () => {
  const seen: [string | undefined, string | undefined][] = [];
  const rest = await answering((request, response) => {
    seen.push([request.url, request.headers.authorization]);
    response.writeHead(200).end("[]");
  });
  await rest.listKernels();
  await rest.listSessions();
  expect(seen).toEqual([
    ["/user/ann/api/kernels", `token ${TOKEN}`],
    ["/user/ann/api/sessions", `token ${TOKEN}`],
  ]);
});

test("a path that would leave the contents is refused before anything is sent", async () => {
  let calls = 0;
  const rest = await answering((_, response) => {
    calls++;
    response.end("{}");
  });
  const error = await failure((async () => rest.getContents("a/../../kernels"))());
  expect(error.code).toBe("invalid_address");
  expect(calls).toBe(0);
});
