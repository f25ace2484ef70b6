import { expect, test } from "vitest";
import { adviceFor, isConnectionLost, isTaken, isUndone, withoutData } from "../src/failures.js";

const failure = (members: object, message = "it failed"): Error => Object.assign(new Error(message), members);

test("what is passed on carries no row, no statement and no parameter", () => {
  const offending = {
    code: "23505",
    constraint: "tasks_pkey",
    detail: "Key (task_id)=(secret)",
    where: "secret",
    query: "secret",
  };
  const passed = withoutData(failure(offending, "duplicate key"), "PostgreSQL at db:5432/tasks");
  expect(passed.message).toBe("PostgreSQL at db:5432/tasks: duplicate key");
  expect(Object.keys(passed).sort()).toEqual(["code", "constraint"]);
  expect(isTaken(passed)).toBe(true);
});

test.each([
  [{ code: "57P01" }, "terminating connection due to administrator command"],
  [{ code: "08006" }, "connection failure"],
  [{ code: "ECONNRESET" }, "read ECONNRESET"],
  [{}, "Connection terminated unexpectedly"],
  [{}, "timeout exceeded when trying to connect"],
])("%j %s is a connection that broke", (members, message) => {
  expect(isConnectionLost(failure(members, message))).toBe(true);
});

test("a refused statement is no broken connection, and not undone", () => {
  expect(isConnectionLost(failure({ code: "42601" }))).toBe(false);
  expect(isUndone(failure({ code: "42601" }))).toBe(false);
});

test("a serialization failure and a deadlock are undone statements", () => {
  expect([isUndone(failure({ code: "40001" })), isUndone(failure({ code: "40P01" }))]).toEqual([true, true]);
});

test("a violation of another constraint is no taken id", () => {
  expect(isTaken(failure({ code: "23505", constraint: "tasks_key" }))).toBe(false);
});

test.each([
  [{ code: "CERT_HAS_EXPIRED" }, "certificate has expired", "Renew the server's certificate"],
  [{ code: "CERT_NOT_YET_VALID" }, "certificate is not yet valid", "this machine's clock"],
  [{ code: "DEPTH_ZERO_SELF_SIGNED_CERT" }, "self-signed certificate", "sslrootcert=FILE"],
  [{ code: "ERR_TLS_CERT_ALTNAME_INVALID" }, "Hostname/IP does not match certificate's altnames", "Name the host"],
  [{ code: "28000" }, "connection requires a valid client certificate", "sslcert=FILE and sslkey=FILE"],
  [{ code: "28P01" }, "password authentication failed", "Check user and password"],
])("%j %s has its advice", (members, message, advice) => {
  expect(adviceFor(failure(members, message))).toContain(advice);
});

test("several addresses that all refused are told by their code, as Node gives them no message", () => {
  const refused = Object.assign(new AggregateError([], ""), { code: "ECONNREFUSED" });
  expect(withoutData(refused, "PostgreSQL").message).toBe("PostgreSQL: ECONNREFUSED");
  expect(adviceFor(refused)).toBe(" Check host and port in the URL, and that the server runs.");
});
