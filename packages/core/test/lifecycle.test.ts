import { describe, expect, it } from "vitest";
import { Lifecycle } from "../src/lifecycle.js";

interface Held {
  promise: Promise<void>;
  resolve(): void;
  reject(error: Error): void;
}

/** A promise that the test settles. */
function held(): Held {
  let settle: Pick<Held, "resolve" | "reject"> | undefined;
  const promise = new Promise<void>((resolve, reject) => {
    settle = { resolve, reject };
  });
  return { promise, resolve: () => settle?.resolve(), reject: (error) => settle?.reject(error) };
}

/** A lifecycle whose steps end when the test lets them, and what happened in order. */
function newLifecycle({ isInTime = true } = {}): {
  life: Lifecycle<string>;
  happened: string[];
  endOpening: (error?: Error) => void;
  endClosing: () => void;
} {
  const happened: string[] = [];
  const opening = held();
  const closing = held();
  const life = new Lifecycle<string>({
    open: async (isAbandoned) => {
      happened.push("opening");
      await opening.promise;
      happened.push(isAbandoned() ? "abandoned" : "open");
    },
    close: async (how) => {
      happened.push(`closing ${how}`);
      await closing.promise;
      happened.push("closed");
    },
    isInTime: async (work) => {
      if (isInTime) await work;
      return isInTime;
    },
  });
  const endOpening = (error?: Error): void => (error === undefined ? opening.resolve() : opening.reject(error));
  return { life, happened, endOpening, endClosing: closing.resolve };
}

describe("a lifecycle", () => {
  it("gives a second call the first one's promise", async () => {
    const { life, happened, endOpening, endClosing } = newLifecycle();
    expect(life.open()).toBe(life.open());
    expect(life.close("once")).toBe(life.close("twice"));
    endOpening();
    endClosing();
    await life.close("thrice");
    expect(happened).toEqual(["opening", "open", "closing once", "closed"]);
  });

  it("closes once an opening under way is done, and opens once that closing is", async () => {
    const { life, happened, endOpening, endClosing } = newLifecycle();
    void life.open();
    void life.close("softly");
    const again = life.open();
    endOpening();
    endClosing();
    await again;
    expect(happened).toEqual(["opening", "open", "closing softly", "closed", "opening", "open"]);
  });

  it("tells an opening that nobody waits for it any more", async () => {
    const { life, happened, endOpening, endClosing } = newLifecycle({ isInTime: false });
    const opened = life.open();
    endClosing();
    await life.close("now");
    endOpening();
    await opened;
    expect(happened).toEqual(["opening", "closing now", "closed", "abandoned"]);
  });

  it("tries an opening that failed again", async () => {
    const { life, happened, endOpening } = newLifecycle();
    const first = life.open();
    endOpening(new Error("no such store"));
    await expect(first).rejects.toThrow("no such store");
    await expect(life.open()).rejects.toThrow("no such store");
    expect(happened).toEqual(["opening", "opening"]);
  });
});
