import { describe, expect, test } from "vitest";
import { authorization, endpoint, serverAddress, socketEndpoint } from "../../src/kernel/address.js";

describe("serverAddress", () => {
  test.each([
    ["http://localhost:8888", "http://localhost:8888/"],
    ["http://localhost:8888/", "http://localhost:8888/"],
    ["https://hub.example/user/ann/proj", "https://hub.example/user/ann/proj/"],
    ["https://hub.example/user/ann/proj/", "https://hub.example/user/ann/proj/"],
    ["https://hub.example/user/a%40b/", "https://hub.example/user/a%40b/"],
    ["http://localhost:8888/lab?token=abc", "http://localhost:8888/"],
    ["http://localhost:8888/user/ann/tree?token=abc", "http://localhost:8888/user/ann/"],
    ["https://host/lab/", "https://host/lab/"],
  ])("reads %s as %s", (url, baseUrl) => {
    expect(serverAddress(url).baseUrl).toBe(baseUrl);
  });

  test("takes the token out of a pasted URL, and a token given by itself wins over it", () => {
    expect(serverAddress("http://localhost:8888/?token=abc").token).toBe("abc");
    expect(serverAddress("http://localhost:8888/?token=abc", "def").token).toBe("def");
    expect(serverAddress("http://localhost:8888/").token).toBe("");
  });

  test.each(["", "localhost:8888", "ftp://host/", "not a url?token=secret1", "http://ann:secret1@host/"])(
    "refuses %s, says what would be right, and repeats no secret",
    (url) => {
      const read = (): unknown => serverAddress(url);
      expect(read).toThrow(expect.objectContaining({ code: "invalid_address" }));
      expect(read).toThrow(/http:\/\/localhost:8888\/|JUPYTER_TOKEN/);
      expect(read).not.toThrow(/secret1/);
    },
  );
});

describe("endpoint", () => {
  const address = serverAddress("https://hub.example/user/ann/proj", "t0ken");

  test("keeps the prefix, escapes segments, and holds no token", () => {
    expect(endpoint(address, "api", "contents", "a b", "c?d#e.ipynb")).toBe(
      "https://hub.example/user/ann/proj/api/contents/a%20b/c%3Fd%23e.ipynb",
    );
    expect(socketEndpoint(address, "api", "kernels", "k", "channels")).toBe(
      "wss://hub.example/user/ann/proj/api/kernels/k/channels",
    );
  });

  test.each([["..", "."], ["."], [""]])("refuses the segment %j, which would lead elsewhere", (...segments) => {
    expect(() => endpoint(address, "api", "contents", ...segments)).toThrow(
      expect.objectContaining({ code: "invalid_address" }),
    );
  });

  test("a slash inside a segment stays inside it", () => {
    expect(endpoint(address, "api", "kernels", "../../etc")).toMatch(/api\/kernels\/\.\.%2F\.\.%2Fetc$/);
  });
});

test("a server without a token gets no authorization header", () => {
  expect(authorization(serverAddress("http://localhost/"))).toEqual({});
  expect(authorization(serverAddress("http://localhost/", "t"))).toEqual({ authorization: "token t" });
});
