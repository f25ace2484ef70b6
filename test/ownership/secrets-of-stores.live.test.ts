/** The passwords of databases are looked for in everything that is logged, at every level, while everything goes wrong. */
import { describeError, type TaskStore } from "@claimcheck/core";
import { createTasks } from "@claimcheck/mcp";
import { PostgresStore } from "@claimcheck/postgres";
import { RedisStore } from "@claimcheck/redis";
import { Redis } from "ioredis";
import { Client } from "pg";
import { expect, it, onTestFinished } from "vitest";
import { eventually } from "../fixtures/eventually.js";
import { recordLog } from "../fixtures/log-recorder.js";
import { openProxy } from "../fixtures/outages.js";
import { startPostgres } from "../services/postgres.js";
import { startRedis } from "../services/redis.js";

const OWNER = JSON.stringify(["single-user"]);
const PAYLOAD = "planted-payload-77";

interface Guarded {
  url: string;
  password: string;
  changePassword(): Promise<void>;
  crash(): Promise<void>;
  start(): Promise<void>;
}

const DATABASES: Record<string, { guarded: () => Promise<Guarded>; open: (url: string) => object }> = {
  PostgreSQL: {
    open: (url) => ({ Store: PostgresStore, options: { url, queryTimeoutMs: 1000, connectTimeoutMs: 2000 } }),
    guarded: async () => {
      const server = await startPostgres();
      onTestFinished(() => server.remove());
      return {
        url: server.url,
        password: server.password,
        changePassword: async () => {
          const client = new Client({ connectionString: server.url });
          await client.connect();
          await client.query("ALTER ROLE postgres PASSWORD 'planted-second-5521'");
          await client.end();
        },
        crash: () => server.stop("immediate"),
        start: () => server.start(),
      };
    },
  },
  Redis: {
    open: (url) => ({ Store: RedisStore, options: { url, commandTimeoutMs: 1000, connectTimeoutMs: 2000 } }),
    guarded: async () => {
      const password = "planted/pass word%";
      const server = await startRedis(["--requirepass", password]);
      onTestFinished(() => server.remove());
      const url = server.url.replace("//", `//:${encodeURIComponent(password)}@`);
      return {
        url,
        password,
        changePassword: async () => {
          const client = new Redis(url);
          await client.config("SET", "requirepass", "planted-second-5521");
          client.disconnect();
        },
        crash: () => server.stop("SIGKILL"),
        start: () => server.start(),
      };
    },
  },
};

it.each(Object.keys(DATABASES))("%s", async (kind) => {
  const { guarded, open } = DATABASES[kind] as (typeof DATABASES)[string];
  const database = await guarded();
  const { proxy, url } = await openProxy(database.url);
  const logger = recordLog();
  const { Store, options } = open(url) as { Store: new (options: object) => TaskStore; options: object };
  const store = new Store({ ...options, logger });
  const tasks = createTasks({ store, ownership: "single-user", logger, leaseMs: 300, pollIntervalMs: 100 });
  onTestFinished(() => tasks.close().catch(() => {}));
  tasks.runtime.define({
    name: "dig",
    handler: async (_args, { task, signal }) => {
      task?.recordOutput([PAYLOAD]);
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
      throw new Error("stopped");
    },
  });
  await tasks.open();
  const rejected: string[] = [];
  const dig = async (): Promise<void> => {
    const call = { owner: OWNER, toolName: "dig", arguments: { what: PAYLOAD } };
    await tasks.runtime.create(call).catch((error: unknown) => void rejected.push(describeError(error)));
  };

  await dig();
  proxy.swallow({ toClient: true });
  await dig();
  proxy.swallow({});
  proxy.cut();
  await dig();
  await database.crash();
  await dig();
  await eventually(() => logger.lines.some(({ message }) => message.includes("lease could not be renewed")));
  await database.start();
  await eventually(
    () =>
      tasks.runtime.get(OWNER, "tsk_unknown").then(
        () => true,
        () => false,
      ),
    30_000,
  );
  await database.changePassword();
  proxy.cut();
  const isRefused = (text: string): boolean => /password authentication failed|WRONGPASS|NOAUTH/.test(text);
  await eventually(async () => {
    await dig();
    return rejected.some(isRefused);
  }, 30_000);

  const said = [...rejected, ...logger.lines.map((line) => JSON.stringify(line))].join("\n");
  for (const secret of [database.password, encodeURIComponent(database.password), PAYLOAD, "planted-second-5521"])
    expect(said).not.toContain(secret);
  const { password } = new URL(database.url);
  expect(said).not.toContain(password);
});
