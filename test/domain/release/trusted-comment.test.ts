import { expect, test } from "bun:test";
import { parseTrustedComment, trustedComment } from "../../../src/domain/release/trusted-comment.ts";

test("a comment says what is signed, and reads back", () => {
  const comment = { what: "manifest", version: "v0.2.0", expiresAt: "2026-12-01T00:00:00Z" } as const;
  expect(trustedComment(comment)).toBe("svc manifest version:v0.2.0 expires:2026-12-01T00:00:00Z");
  expect(parseTrustedComment(trustedComment(comment))).toEqual(comment);
});

test.each([
  "",
  "timestamp:1700000000\tfile:manifest.json",
  "svc binary version:v0.2.0 expires:2026-12-01T00:00:00Z",
  "svc manifest version:0.2.0 expires:2026-12-01T00:00:00Z",
  "svc manifest version:v0.2.0 expires:never",
  "svc manifest version:v0.2.0 expires:2026-12-01T00:00:00Z and more",
  " svc manifest version:v0.2.0 expires:2026-12-01T00:00:00Z",
])("%j is none", (text) => {
  expect(parseTrustedComment(text)).toBeUndefined();
});
