/** A proxy before a Jupyter Server that can refuse some of its requests: the real thing does not fail on demand. */
import { createServer, request as httpRequest, type IncomingMessage, type ServerResponse } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { onTestFinished } from "vitest";

export interface FaultyProxy {
  url: string;
  /** Answers HTTP 500 to whatever goes to a path like this. */
  refuse(path: RegExp): void;
}

/** Ends with the test. */
export async function startFaultyProxy(target: string): Promise<FaultyProxy> {
  const { hostname, port } = new URL(target);
  let refused: RegExp | undefined;
  const server = createServer((request, response) => {
    if (refused?.test(new URL(request.url ?? "/", target).pathname)) answerFault(response);
    else forward(request, response, { hostname, port });
  });
  server.on("upgrade", (request: IncomingMessage, socket: Socket, head: Buffer) => {
    const upstream = connect(Number(port), hostname, () => {
      upstream.write(`${headOf(request)}\r\n\r\n`);
      upstream.write(head);
      upstream.pipe(socket).pipe(upstream);
    });
    for (const end of [socket, upstream]) end.on("error", () => [socket, upstream].map((each) => each.destroy()));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    refuse: (path) => {
      refused = path;
    },
  };
}

function answerFault(response: ServerResponse): void {
  response.writeHead(500, { "content-type": "application/json" });
  response.end(JSON.stringify({ message: "out of order" }));
}

function forward(request: IncomingMessage, response: ServerResponse, to: { hostname: string; port: string }): void {
  const { method, url, headers } = request;
  const upstream = httpRequest({ ...to, method, path: url, headers }, (answer) => {
    response.writeHead(answer.statusCode ?? 502, answer.headers);
    answer.pipe(response);
  });
  upstream.on("error", () => response.destroy());
  request.pipe(upstream);
}

function headOf({ method, url, rawHeaders }: IncomingMessage): string {
  const headers = rawHeaders.flatMap((name, index) => (index % 2 === 0 ? [`${name}: ${rawHeaders[index + 1]}`] : []));
  return [`${method} ${url} HTTP/1.1`, ...headers].join("\r\n");
}
