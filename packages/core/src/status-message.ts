/** What a status message says of an outcome: clients that do not fetch a failed result read why there. */
import type { JsonObject } from "./json.js";
import type { Outcome } from "./task.js";

/** In UTF-16 units: it goes out with every poll. */
const MAX_STATUS_MESSAGE = 1000;

/** `message`, cut with an ellipsis where it is longer than `max` UTF-16 units; never inside a character. */
export function boundedText(message: string, max: number = MAX_STATUS_MESSAGE): string {
  if (message.length <= max) return message;
  return `${message.slice(0, max - 1).replace(/[\ud800-\udbff]$/, "")}…`;
}

/** The status message of a task that ends with `outcome`; none for a result. */
export function messageOf(outcome: Outcome): string | undefined {
  switch (outcome.kind) {
    case "result":
      return undefined;
    case "threw":
      return boundedText(outcome.message);
    case "protocol_error":
      return boundedText(outcome.error.message);
    case "error_result":
      return boundedText(textOf(outcome.result)) || undefined;
  }
}

/** The text of a tool result's content blocks. */
function textOf(result: JsonObject): string {
  const content = Array.isArray(result.content) ? result.content : [];
  const texts = content.map((block) =>
    typeof block === "object" && block !== null && !Array.isArray(block) ? block.text : undefined,
  );
  return texts.filter((text) => typeof text === "string").join("\n");
}
