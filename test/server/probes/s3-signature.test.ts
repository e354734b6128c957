/** The examples that AWS published of signed calls of S3. */

import { expect, test } from "bun:test";
import { signAws } from "../../../src/server/probes/aws-signature.ts";

const KEYS = { accessKeyId: "AKIAIOSFODNN7EXAMPLE", secretAccessKey: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY" };
const AT = Date.UTC(2013, 4, 24);
const BODY = "Welcome to Amazon S3.";
const WHEN = { date: "Fri, 24 May 2013 00:00:00 GMT" };

const EXAMPLES = [
  ["GET", "/test.txt", { range: "bytes=0-9" }, "", "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"],
  [
    "PUT",
    "/test%24file.text",
    { ...WHEN, "x-amz-storage-class": "REDUCED_REDUNDANCY" },
    BODY,
    "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd",
  ],
  ["GET", "/?lifecycle", {}, "", "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"],
  ["GET", "/?max-keys=2&prefix=J", {}, "", "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"],
] as const;

test.each(EXAMPLES)("%s %s", (method, path, headers, body, signature) => {
  const url = new URL(path, "https://examplebucket.s3.amazonaws.com");
  const hash = new Bun.CryptoHasher("sha256").update(body).digest("hex");
  const request = { method, url, headers: { ...headers, "x-amz-content-sha256": hash }, body, service: "s3", region: "us-east-1", at: AT };
  expect(signAws(request, KEYS).authorization).toEndWith(`Signature=${signature}`);
});
