/**
 * Whom the binary trusts: certificates that are right, and wrong in one way each. Every refusal
 * names its reason, and no request is sent.
 */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { createServer as createPlainServer } from "node:http";
import { createServer, type ServerOptions } from "node:https";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { create, toBinary } from "@bufbuild/protobuf";
import { WhoAmIResponseSchema } from "../../gen/svc/v1/auth_pb.ts";
import { Authority, type Leaf } from "../harness/authority.ts";
import { lacksProgram } from "../harness/needs.ts";
import { Sandbox } from "../harness/sandbox.ts";

const ANSWER = toBinary(WhoAmIResponseSchema, create(WhoAmIResponseSchema, { userId: "usr_1" }));
const UNTRUSTED = "no authority that this machine trusts has signed it";
const NAME_IT = "Name the authority's certificate in NODE_EXTRA_CA_CERTS.";

describe.skipIf(lacksProgram("openssl"))("a server with a certificate", () => {
  let sandbox: Sandbox;
  let authority: Authority;
  let good: Leaf;
  let trusting: Record<string, string>;
  beforeAll(() => {
    sandbox = new Sandbox({ SVC_ACCESS_TOKEN: "token-canary-55d1" });
    authority = new Authority();
    good = authority.sign("localhost");
    trusting = { NODE_EXTRA_CA_CERTS: authority.certificate };
  });
  afterAll(async () => {
    authority[Symbol.dispose]();
    await sandbox[Symbol.asyncDispose]();
  });

  /** Runs `svc user` against a server; `asked` counts the requests that it got. */
  async function ask(options: ServerOptions | undefined, env: Record<string, string>) {
    let asked = 0;
    const answer: Parameters<typeof createPlainServer>[1] = (_, response) => {
      asked++;
      response.writeHead(200, { "content-type": "application/proto" }).end(ANSWER);
    };
    const server = options ? createServer(options, answer) : createPlainServer(answer);
    await new Promise<void>((resolve) => server.listen(0, "localhost", resolve));
    const { port } = server.address() as AddressInfo;
    const outcome = await sandbox.svc(["user", "--json", "--api-host", `https://localhost:${port}`], { env });
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
    const line = outcome.stderr.split("\n").find((text) => text.startsWith('{"error"'));
    type Told = { error: { code: string; message: string; details: { hint?: string } } };
    return { ...outcome, asked, error: line ? (JSON.parse(line) as Told).error : undefined };
  }

  test("of an authority that is named is trusted", async () => {
    const { exitCode, stdout, asked } = await ask(good, trusting);
    expect([exitCode, asked]).toEqual([0, 1]);
    expect(stdout).toContain("usr_1");
  });

  const refused: [name: string, leaf: () => Leaf, trusted: boolean, why: string, hint: string][] = [
    ["of an authority that nobody named", () => good, false, UNTRUSTED, NAME_IT],
    ["for another host", () => authority.sign("other.example"), true, "it is for another host", "Check the address"],
    ["that has expired", () => authority.sign("localhost", -1), true, "it has expired", "renew"],
    ["signed by itself", () => authority.selfSigned("localhost"), true, "it is signed by itself", NAME_IT],
  ];
  for (const [name, leaf, trusted, why, hint] of refused) {
    for (const careless of [{}, { NODE_TLS_REJECT_UNAUTHORIZED: "0" }] as Record<string, string>[]) {
      test(`${name} is refused${careless.NODE_TLS_REJECT_UNAUTHORIZED ? ", whatever NODE_TLS_REJECT_UNAUTHORIZED says" : ""}`, async () => {
        const { exitCode, stdout, asked, error } = await ask(leaf(), { ...(trusted ? trusting : {}), ...careless });
        expect([exitCode, stdout, asked]).toEqual([1, "", 0]);
        expect(error?.message).toContain(why);
        expect(error?.details.hint).toContain(hint);
      });
    }
  }

  test("that wants one of us too is named as that", async () => {
    const wanting = () => ({ ...good, requestCert: true, rejectUnauthorized: true, ca: readFileSync(authority.certificate) });
    const newest = await ask(wanting(), trusting);
    expect([newest.exitCode, newest.asked]).toEqual([1, 0]);
    expect(newest.error?.message).toContain("wants a client certificate, which svc does not have");
    const older = await ask({ ...wanting(), maxVersion: "TLSv1.2" }, trusting);
    expect([older.exitCode, older.asked]).toEqual([1, 0]);
    expect(older.error?.message).toContain("refused the TLS handshake, as one that wants a client certificate does");
  });

  test("and one without is told to speak no TLS", async () => {
    const { exitCode, asked, error } = await ask(undefined, trusting);
    expect([exitCode, asked]).toEqual([1, 0]);
    expect(error?.message).toContain("does not speak TLS");
    expect(error?.details.hint).toContain("http://");
  });

  test("and a file of authorities that cannot be used is named", async () => {
    await Bun.write(join(sandbox.work, "no.pem"), "nothing\n");
    const files: [path: string, why: string][] = [
      [sandbox.work, "it is a directory"],
      [join(sandbox.work, "missing.pem"), "no such file"],
      [join(sandbox.work, "no.pem"), "holds no certificate in PEM form"],
    ];
    for (const [path, why] of files) {
      const { exitCode, asked, error } = await ask(good, { NODE_EXTRA_CA_CERTS: path });
      expect([exitCode, asked]).toEqual([1, 0]);
      expect(error?.message).toContain(UNTRUSTED);
      expect(error?.details.hint).toContain(`NODE_EXTRA_CA_CERTS names ${path}, which`);
      expect(error?.details.hint).toContain(why);
    }
  });
});
