import { expect, test } from "vitest";
import { failureOf, isConnectionLost, isScriptUnknown, openingFailure, RedisFailure } from "../src/failures.js";

const WHERE = "Redis at db:6379";

test("what is passed on carries no command and no argument", () => {
  const reply = new Error("ERR unknown command 'EVALX', with args beginning with: 'secret payload'");
  const passed = failureOf(Object.assign(reply, { command: { name: "evalx", args: ["secret payload"] } }), WHERE);
  expect(passed).toBeInstanceOf(RedisFailure);
  expect(passed.message).toBe("Redis at db:6379: ERR unknown command 'EVALX'.");
  expect(Object.keys(passed)).toEqual(["code"]);
});

test("a broken connection is told by what it said last, and by what to check", () => {
  const given = Object.assign(new Error("Reached the max retries per request limit (which is 0)."), {
    name: "MaxRetriesPerRequestError",
  });
  const passed = failureOf(given, WHERE, new Error("connect ECONNREFUSED 10.0.0.1:6379"));
  expect(passed.message).toBe(
    "Redis at db:6379: cannot be reached (connect ECONNREFUSED 10.0.0.1:6379). Check host and port in the URL, and that the server runs.",
  );
  expect(isConnectionLost(passed)).toBe(true);
});

test("a reply is no broken connection, and keeps its code", () => {
  const passed = failureOf(new Error("OOM command not allowed when used memory > 'maxmemory'."), WHERE);
  expect(passed.code).toBe("OOM");
  expect(isConnectionLost(passed)).toBe(false);
  expect(passed.message).toContain("Raise maxmemory on the server");
});

test.each([
  ["certificate has expired", "Renew the server's certificate"],
  ["certificate is not yet valid", "this machine's clock"],
  ["self-signed certificate", "Name its CA"],
  ["Hostname/IP does not match certificate's altnames: IP: 127.0.0.1 is not in the cert's list", "Name the host"],
  ["write ECONNRESET", "name one by tls: { cert, key }"],
  ["80B2:error:0A00045C:SSL routines:ssl3_read_bytes:tlsv13 alert certificate required", "tls: { cert, key }"],
])("over TLS, %s has its advice", (said, advice) => {
  const closed = new Error("Connection is closed.");
  const message = openingFailure(failureOf(closed, `${WHERE} over TLS`, new Error(said)), `${WHERE} over TLS`);
  expect(message).toContain(`(${said}). `);
  expect(message).toContain(advice);
});

test("a connection that is reset says nothing of certificates without TLS, nor once it was open", () => {
  const reset = (where: string) => failureOf(new Error("Connection is closed."), where, new Error("read ECONNRESET"));
  expect(openingFailure(reset(WHERE), WHERE)).toBe("Redis at db:6379: cannot be reached (read ECONNRESET).");
  expect(reset(`${WHERE} over TLS`).message).not.toContain("certificate");
});

test("a server that has not seen a script is told apart from one that failed it", () => {
  expect(isScriptUnknown(failureOf(new Error("NOSCRIPT No matching script."), "Redis"))).toBe(true);
  expect(isScriptUnknown(failureOf(new Error("ERR NOSCRIPT"), "Redis"))).toBe(false);
});
