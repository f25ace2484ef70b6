import { expect, test } from "vitest";
import { createMessage } from "../../src/kernel/messages.js";
import { isRateLimitNotice } from "../../src/kernel/rate-limit.js";

function stderr(session: string, text: string, name = "stderr") {
  return createMessage(
    { sessionId: session, username: "" },
    { channel: "iopub", type: "stream", content: { name, text } },
  );
}

test.each([
  [
    "the server's notice of too many messages",
    "ours",
    "IOPub message rate exceeded.\nThe Jupyter server",
    "stderr",
    true,
  ],
  ["the server's notice of too many bytes", "ours", "IOPub data rate exceeded.\nThe Jupyter server", "stderr", true],
  ["the same text from a kernel", "kernel", "IOPub data rate exceeded.\n", "stderr", false],
  ["other text under our session, as some kernels send it", "ours", "warning\n", "stderr", false],
  ["the same text on stdout", "ours", "IOPub data rate exceeded.\n", "stdout", false],
])("%s", (_what, session, text, name, isNotice) => {
  expect(isRateLimitNotice(stderr(session, text, name), "ours")).toBe(isNotice);
});
