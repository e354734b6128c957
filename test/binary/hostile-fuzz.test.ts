/**
 * Every method of the contract and every HTTP path of the compiled server, with bytes that are no
 * request: random ones, valid ones that are cut or changed, and nested bombs; as messages and as
 * JSON, by strangers and by a caller. What is new in the contract or in the router is covered by
 * itself.
 */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { type DescFile, type DescMethod, getOption } from "@bufbuild/protobuf";
import { Permission, permission } from "../../gen/svc/v1/options_pb.ts";
import { QueryRequestSchema } from "../../gen/svc/v1/query_pb.ts";
import { ENDPOINTS } from "../../src/server/wire/router.ts";
import { Sandbox } from "../harness/sandbox.ts";
import { runs, seed } from "../harness/seed.ts";
import { residentMiB } from "../harness/server-watch.ts";
import { enveloped, seeded, WireFuzz } from "../harness/wire-fuzz.ts";

/** Rounds of every method and path. */
const ROUNDS = runs(2, 1_000);
/** Memory that the server may have. */
const MAX_MIB = 400;

const GEN = join(import.meta.dir, "../../gen/svc/v1");
const methods: DescMethod[] = [];
for (const name of readdirSync(GEN)) {
  const module = (await import(join(GEN, name))) as Record<string, DescFile>;
  for (const service of module[`file_svc_v1_${name.replace("_pb.ts", "")}`]?.services ?? []) methods.push(...service.methods);
}

let sandbox: Sandbox;
let token = "";
let pid = 0;
beforeAll(async () => {
  sandbox = new Sandbox();
  await sandbox.startServer();
  const project = await sandbox.write({
    "svc.yaml": "project: door\nenvironments:\n  default: {}\n",
    "features.py":
      "from svc.features import _, feature, features\n\n\n@features\nclass User:\n    id: int\n    twice: int = feature(expression=_.id + _.id)\n",
  });
  await sandbox.json(["apply", "--force", "--await"], { cwd: project });
  token = await sandbox.accessToken();
  pid = ((await Bun.file(join(sandbox.home, ".svc/data/server.json")).json()) as { pid: number }).pid;
}, 300_000);
afterAll(() => sandbox[Symbol.asyncDispose]());

/**
 * Sends a body, and says how it was answered: by a status that is the caller's fault or none's, in
 * time.
 */
async function statusOf(method: string, path: string, headers: Record<string, string>, body?: Uint8Array<ArrayBuffer>): Promise<number> {
  const signal = AbortSignal.timeout(180_000);
  const response = await fetch(sandbox.url + path, { method, headers, signal, redirect: "manual", ...(body ? { body } : {}) });
  const text = await firstOf(response);
  if (response.status >= 500 && response.status !== 501) {
    const shown = body ? `${body.subarray(0, 400).toHex()} (${body.length} bytes)` : "no body";
    throw new Error(`${method} ${path} ${headers["content-type"]}: ${response.status} ${text}\nfor ${shown}, SVC_TEST_SEED=${seed}`);
  }
  if (/"code":"(?:internal|unknown|data_loss)"/.test(text))
    throw new Error(`${path} ${headers["content-type"]}: ${text}, SVC_TEST_SEED=${seed}`);
  return response.status;
}

/** What comes first of an answer, as text; of a stream that has no end the rest is not awaited. */
async function firstOf(response: Response): Promise<string> {
  if (!/^application\/(?:connect|grpc)/.test(response.headers.get("content-type") ?? "")) return await response.text();
  const reader = response.body?.getReader();
  const first = await reader?.read();
  await reader?.cancel();
  return new TextDecoder().decode(first?.value);
}

async function answersStill(): Promise<void> {
  const response = await fetch(`${sandbox.url}/v1/query/online`, {
    method: "POST",
    body: JSON.stringify({ inputs: { "user.id": 21 }, outputs: ["user.twice"] }),
    headers: { "content-type": "application/json", authorization: `Bearer ${token}` },
  });
  expect(((await response.json()) as { data: { value: number }[] }).data[0]?.value).toBe(42);
  expect(await residentMiB(pid)).toBeLessThan(MAX_MIB);
}

const WORDS = ["user.id", "user.twice", "user", "default", "infinity", "{}", '"1"', "1", "../x", "a.b.c", "__proto__"];
const fuzzOf = (name: string) => new WireFuzz(seeded(seed + Bun.hash.crc32(name)), WORDS);

describe("methods", () => {
  test.each(methods.map((method) => [`${method.parent.typeName}/${method.name}`, method] as const))(
    "%s",
    async (name, method) => {
      const fuzz = fuzzOf(name);
      const isPublic = getOption(method, permission) === Permission.PUBLIC;
      const isUnary = method.methodKind === "unary";
      for (let round = 0; round < ROUNDS; round++) {
        const messages = fuzz.messages(method.input);
        const texts = fuzz.texts(method.input);
        const calls: (readonly [string, Uint8Array<ArrayBuffer>])[] = isUnary
          ? [
              ...messages.map((body) => ["application/proto", body] as const),
              ...messages.map((body) => ["application/PROTO", body] as const),
              ...texts.map((body) => ["application/json", body] as const),
            ]
          : [
              ...messages.map((body) => ["application/connect+proto", enveloped(body)] as const),
              ...texts.map((body) => ["application/connect+json", enveloped(body)] as const),
            ];
        calls.push(
          ...messages.slice(0, 12).map((body) => ["application/grpc-web+proto", enveloped(body)] as const),
          ...messages.slice(12).map((body) => ["application/grpc-web", enveloped(body)] as const),
          ["application/connect+proto", fuzz.bytes(30)],
          ["application/octet-stream", fuzz.bytes(30)],
        );
        for (const [type, body] of calls) {
          await statusOf("POST", `/${name}`, { "content-type": type, authorization: `Bearer ${token}` }, body);
          const stranger = await statusOf("POST", `/${name}`, { "content-type": type }, body);
          if (!isPublic && isUnary && /^application\/(?:proto|json)$/i.test(type)) expect(stranger).toBe(401);
        }
        for (const verb of ["GET", "PUT", "DELETE"])
          await statusOf(verb, `/${name}?encoding=proto&message=%00x`, { authorization: `Bearer ${token}` });
      }
      // A call that means what it says has its effect, and its counterpart takes it back.
      if (name.endsWith("/SuspendEnvironment")) {
        const headers = { "content-type": "application/json", authorization: `Bearer ${token}` };
        expect(await statusOf("POST", `/${name.replace("Suspend", "Resume")}`, headers, new TextEncoder().encode("{}"))).toBe(200);
      }
      await answersStill();
    },
    300_000,
  );
});

describe("paths", () => {
  const below = (path: string) =>
    path.endsWith("/") ? [path, `${path}x`, `${path}${"0".repeat(64)}?op=put&size=1&expires=1&signature=x`] : [path];
  const paths = [...Object.keys(ENDPOINTS).flatMap(below), "/cli/login_0", "/environments/x/query-runs/y", "/svc.v1.Nothing/Get"];
  test.each(paths)(
    "%s",
    async (path) => {
      const fuzz = fuzzOf(path);
      const queries = [
        '{"inputs":{"user.id":1},"outputs":["user.twice"],"context":{"environment":"x","tags":["a"]},"now":"2024-01-01","explain":true,"trace":true}',
        '{"inputs":{"user.id":[1,2]},"outputs":["user.twice"],"staleness":{"user.twice":"1h"},"planner_options":{"max_batch_rows":"1"},"query_context":{"a":1}}',
        '{"client_id":"a","client_secret":"b","grant_type":"client_credentials"}',
      ].map((text) => new TextEncoder().encode(text));
      for (let round = 0; round < ROUNDS; round++) {
        const bodies = [
          ...queries,
          ...queries.flatMap((body) => Array.from({ length: 6 }, () => fuzz.changed(body))),
          ...queries.map((body) => body.slice(0, fuzz.below(body.length))),
          ...fuzz.texts(QueryRequestSchema),
          ...fuzz.messages(QueryRequestSchema),
        ];
        for (const body of bodies)
          for (const type of ["application/json", "application/x-www-form-urlencoded"]) {
            await statusOf("POST", path, { "content-type": type, authorization: `Bearer ${token}` }, body);
            await statusOf("POST", path, { "content-type": type }, body);
          }
        for (const verb of ["GET", "PUT", "DELETE", "OPTIONS"]) {
          const body = verb === "GET" ? undefined : fuzz.bytes(100);
          await statusOf(verb, path, { authorization: `Bearer ${token}`, range: "bytes=5-1", cookie: "svc_login=x" }, body);
        }
      }
      await answersStill();
    },
    300_000,
  );
});
