import { randomInt } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:net";

/**
 * Below what systems give to whoever does not ask for a port of its own, connections that go out included: nobody gets it
 * by chance, also while a server that has it is away for a moment.
 */
const FROM = 20_000;
const TO = 32_000;

/** On one that was given away just now, nobody may listen yet. */
const given = new Set<number>();

/** A port of the loopback interface that nobody listens on now. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(FROM, TO);
    if (given.has(port)) continue;
    given.add(port);
    const server = createServer();
    try {
      await once(server.listen(port, "127.0.0.1"), "listening");
    } catch {
      continue;
    }
    server.close();
    await once(server, "close");
    return port;
  }
}
