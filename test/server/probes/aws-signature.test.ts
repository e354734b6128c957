/** The vectors that AWS published with signature version 4. */

import { expect, test } from "bun:test";
import { signAws } from "../../../src/server/probes/aws-signature.ts";

const KEYS = { accessKeyId: "AKIDEXAMPLE", secretAccessKey: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY" };
const AT = Date.UTC(2015, 7, 30, 12, 36, 0);
const FORM = { "content-type": "application/x-www-form-urlencoded" };

const VECTORS = [
  ["get-vanilla", "GET", "/", {}, "", "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"],
  ["post-vanilla", "POST", "/", {}, "", "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"],
  [
    "get-vanilla-query-order-key-case",
    "GET",
    "/?Param2=value2&Param1=value1",
    {},
    "",
    "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500",
  ],
  ["post-x-www-form-urlencoded", "POST", "/", FORM, "Param1=value1", "ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a"],
] as const;

test.each(VECTORS)("%s", (_, method, path, headers, body, signature) => {
  const url = new URL(path, "https://example.amazonaws.com");
  const signed = signAws({ method, url, headers, body, service: "service", region: "us-east-1", at: AT }, KEYS);
  expect(signed.authorization).toEndWith(`Signature=${signature}`);
  expect(signed.authorization).toStartWith("AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, ");
});

test("the example of the manual: IAM lists users", () => {
  const url = new URL("https://iam.amazonaws.com/?Action=ListUsers&Version=2010-05-08");
  const headers = { "content-type": "application/x-www-form-urlencoded; charset=utf-8" };
  const { authorization } = signAws({ method: "GET", url, headers, body: "", service: "iam", region: "us-east-1", at: AT }, KEYS);
  expect(authorization).toBe(
    "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/iam/aws4_request, SignedHeaders=content-type;host;x-amz-date, " +
      "Signature=5d672d79c15b13162d9279b0855cfba6789a8edb4c82c400e06b5924a6f2b5d7",
  );
});

test("a session token is signed with the rest", () => {
  const url = new URL("https://example.amazonaws.com/");
  const request = { method: "GET", url, headers: {}, body: "", service: "service", region: "us-east-1", at: AT };
  const signed = signAws(request, { ...KEYS, sessionToken: "token" });
  expect(signed["x-amz-security-token"]).toBe("token");
  expect(signed.authorization).toContain("SignedHeaders=host;x-amz-date;x-amz-security-token,");
});
