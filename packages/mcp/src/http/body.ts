/**
 * Reading what a client sends, and not more. A refusal has to reach a client that is still sending: closing the
 * connection on it would take the answer with it, so what still comes is read for a while and thrown away.
 */
import type { IncomingMessage } from "node:http";

/** The body of `request`; `null` when it is larger than `maxBytes`, as soon as that is known. Rejects when the client goes away. */
export async function readBody(request: IncomingMessage, maxBytes: number): Promise<Buffer | null> {
  if (Number(request.headers["content-length"]) > maxBytes) return null;
  if (request.destroyed) throw goneAway();
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let received = 0;
    const take = (chunk: Buffer): void => {
      received += chunk.length;
      if (received <= maxBytes) chunks.push(chunk);
      else settle(() => resolve(null));
    };
    const whole = (): void => settle(() => resolve(Buffer.concat(chunks)));
    const cutOff = (): void => settle(() => reject(goneAway()));
    const settle = (done: () => void): void => {
      request.off("data", take).off("end", whole).off("close", cutOff);
      done();
    };
    request.on("data", take).on("end", whole).on("close", cutOff);
  });
}

/** What is answered to a larger one. */
export function tooLarge(maxBytes: number): { status: number; message: string } {
  return { status: 413, message: `The request body is larger than the ${maxBytes} bytes that are taken.` };
}

function goneAway(): Error {
  return new Error("The client went away while it sent its request.");
}

/** Long enough for a client that sends what it had begun, and then reads. */
const LINGER_MS = 2_000;

/** Reads the rest of a refused request for a while, so that its sender comes to read the answer; then the connection ends. */
export function discardRest(request: IncomingMessage): void {
  if (request.complete) return;
  const timer = setTimeout(() => request.socket.destroy(), LINGER_MS);
  timer.unref();
  request.once("close", () => clearTimeout(timer));
  request.once("end", () => clearTimeout(timer));
  request.resume();
}
