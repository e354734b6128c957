import { describe, expect, test } from "bun:test";
import {
  headersOffered,
  MAX_CELLS,
  offeredProtocols,
  readShellEvent,
  readShellRequest,
  readStreamMessage,
  streamMessage,
} from "../../src/domain/shell-frames.ts";

describe("messages of a shell", () => {
  test("bytes come back with their stream", () => {
    for (const stream of ["stdin", "stdout", "stderr"] as const) {
      const bytes = Uint8Array.from([0, 255, 10]);
      expect(readStreamMessage(streamMessage(stream, bytes))).toEqual({ stream, bytes });
      expect(readStreamMessage(streamMessage(stream, new Uint8Array()))).toEqual({ stream, bytes: new Uint8Array() });
    }
    expect(readStreamMessage(new Uint8Array())).toBeUndefined();
    expect(readStreamMessage(Uint8Array.from([9, 1]))).toBeUndefined();
  });

  test("sizes are within bounds", () => {
    expect(readShellRequest('{"is":"resize","columns":80,"rows":24}')).toEqual({ is: "resize", columns: 80, rows: 24 });
    for (const columns of [0, -1, 1.5, MAX_CELLS + 1, "80", null])
      expect(readShellRequest(JSON.stringify({ is: "resize", columns, rows: 24 }))).toBeUndefined();
  });

  test("what is no message is told apart", () => {
    for (const text of ["", "null", "[]", "3", '{"is":"other"}', '{"is":"exit","code":"1"}', "{"]) {
      expect(readShellRequest(text)).toBeUndefined();
      expect(readShellEvent(text)).toBeUndefined();
    }
    expect(readShellEvent('{"is":"exit","code":137}')).toEqual({ is: "exit", code: 137 });
  });
});

test("what a page offers as protocols becomes its headers again, and nothing else does", () => {
  const offered = offeredProtocols({ "svc-page-key": "svcb_a-B_1", "svc-shell-ticket": "eyJ.x-y_z" });
  expect(offered.every((one) => /^[!#$%&'*+.^_`|~\w-]+$/.test(one))).toBe(true);
  expect(headersOffered(offered.join(", "))).toEqual({ "svc-page-key": "svcb_a-B_1", "svc-shell-ticket": "eyJ.x-y_z" });
  expect(headersOffered("svc-shell,svc-shell-ticket.a,authorization.Bearer,cookie.a=b")).toEqual({ "svc-shell-ticket": "a" });
  expect([headersOffered(""), headersOffered("chat"), headersOffered("svc-shell-ticket.a")]).toEqual([undefined, undefined, undefined]);
  expect(headersOffered("svc-shell")).toEqual({});
});
