import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { systemClock } from "../../../src/context/system-clock.ts";
import type { Settings } from "../../../src/domain/kind-settings.ts";
import type { ConnectionType } from "../../../src/domain/offline-connection.ts";
import type { OpenAccount } from "../../../src/server/connections/cloud-accounts.ts";
import { tryAccount, tryConnection, tryStorage } from "../../../src/server/connections/trying.ts";
import { type FakeClouds, startFakeClouds, xml } from "./fake-clouds.ts";

let fake: FakeClouds;
beforeAll(() => {
  fake = startFakeClouds();
});
afterAll(() => fake[Symbol.dispose]());
beforeEach(() => {
  fake.answer = undefined;
  fake.seen.length = 0;
  fake.objects.clear();
});

const context = (limitMs?: number) => ({
  clock: systemClock,
  signal: new AbortController().signal,
  ...(limitMs !== undefined && { limitMs }),
});
const account = (kind: "aws" | "gcp", values: Settings): OpenAccount => ({
  id: "cred_1",
  name: "a",
  kind,
  settings: {},
  updatedAt: 1,
  values,
});
const buckets = (address: string) => ({
  designator: "",
  managed: false,
  cloudCredentialId: "cred_1",
  planStagesBucket: "",
  sourceUploadBucket: "",
  datasetBucket: address,
  kind: address.startsWith("gs:") ? ("gcp" as const) : ("aws" as const),
});

describe("accounts", () => {
  test("AWS says whose keys they are, Google gives a token for the account", async () => {
    expect(await tryAccount({ kind: "aws", values: fake.aws }, context())).toEqual([
      { name: "credentials", status: "ok", message: `${fake.host}: took the keys of arn:aws:iam::1:user/me` },
    ]);
    expect(await tryAccount({ kind: "gcp", values: fake.gcp }, context())).toMatchObject([{ status: "ok" }]);
    expect(fake.seen.map(({ path }) => path)).toEqual(["/", "/token"]);
  });

  test("wrong keys are refused with the reason of AWS", async () => {
    expect(await tryAccount({ kind: "aws", values: { ...fake.aws, secret_access_key: "another-secret" } }, context())).toEqual([
      {
        name: "credentials",
        status: "failed",
        message: `${fake.host} answered 403: SignatureDoesNotMatch The signature does not match.`,
      },
    ]);
  });
});

describe("buckets", () => {
  const ADDRESSES = ["s3://data-sets", "s3://data-sets/a/b", "gs://data_sets/x"] as const;
  test.each(ADDRESSES)("one object is put, got and deleted in %s, and nothing is left", async (address) => {
    const kind = address.startsWith("gs:") ? "gcp" : "aws";
    const checks = await tryStorage(buckets(address), account(kind, fake[kind]), context());
    expect(checks).toEqual([{ name: "dataset_bucket", status: "ok", message: `${address}: put, got and deleted one object` }]);
    const calls = fake.seen.filter(({ path }) => path !== "/token");
    expect(calls.map(({ method }) => method)).toEqual(["PUT", "GET", "DELETE"]);
    expect(new Set(calls.map(({ path }) => path)).size).toBe(1);
    expect(calls[0]?.path).toStartWith(`/${address.slice(5)}/.svc-probe-`);
    expect(fake.objects.size).toBe(0);
  });

  test("an object that cannot be got is deleted nevertheless, and one that cannot be deleted is named", async () => {
    fake.answer = ({ method }) => (method === "GET" ? xml(403, "AccessDenied", "No.") : undefined);
    expect(await tryStorage(buckets("s3://data-sets"), account("aws", fake.aws), context())).toMatchObject([
      { status: "failed", message: `an object cannot be got: ${fake.host} answered 403: AccessDenied No.` },
    ]);
    expect(fake.objects.size).toBe(0);
    fake.answer = ({ method }) => (method === "DELETE" ? xml(403, "AccessDenied", "No.") : undefined);
    const [left] = await tryStorage(buckets("s3://data-sets"), account("aws", fake.aws), context());
    expect([left?.status, left?.message]).toEqual(["failed", expect.stringContaining("is left there: ")]);
    expect([...fake.objects.keys()][0]).toEndWith(/^(\S+) cannot be deleted/.exec(left?.message ?? "")?.[1] ?? "?");
  });

  test("what was put is deleted when the time is over before it is got, or nobody waits any more", async () => {
    const stops = new AbortController();
    fake.answer = ({ method }) => (method === "GET" ? new Promise<never>(() => undefined) : undefined);
    expect(await tryStorage(buckets("s3://data-sets"), account("aws", fake.aws), context(100))).toMatchObject([
      { status: "failed", message: "nothing was answered within 0.1 s" },
    ]);
    expect([fake.objects.size, fake.seen.at(-1)?.method]).toEqual([0, "DELETE"]);
    fake.answer = ({ method }) => {
      if (method !== "GET") return undefined;
      stops.abort(new Error("gone"));
      return new Promise<never>(() => undefined);
    };
    const left = tryStorage(buckets("s3://data-sets"), account("aws", fake.aws), { ...context(), signal: stops.signal });
    await expect(left).rejects.toThrow("gone");
    expect([fake.objects.size, fake.seen.at(-1)?.method]).toEqual([0, "DELETE"]);
  });

  test("other content than what was put is a failure", async () => {
    fake.answer = ({ method }) => (method === "GET" ? new Response("something else") : undefined);
    expect(await tryStorage(buckets("s3://data-sets"), account("aws", fake.aws), context())).toMatchObject([
      { status: "failed", message: "an object cannot be got: it is not what was put" },
    ]);
  });

  test("without an account or buckets nothing is called", async () => {
    expect(await tryStorage(buckets("s3://data-sets"), "no account", context())).toEqual([
      { name: "dataset_bucket", status: "untested", message: "no account" },
    ]);
    expect(await tryStorage(buckets(""), account("aws", fake.aws), context())).toMatchObject([{ status: "untested" }]);
    expect(fake.seen).toEqual([]);
  });
});

describe("connections", () => {
  const all = (): [ConnectionType, Settings, string[]][] => [
    ["snowflake", fake.snowflake, ["statement"]],
    ["bigquery", { ...fake.gcp, dataset: "d" }, ["statement"]],
    ["iceberg", { ...fake.aws, warehouse: "s3://lake/tables" }, ["catalog", "warehouse"]],
  ];

  test("each store is called as it wants to be", async () => {
    for (const [type, values, names] of all()) {
      const checks = await tryConnection(type, values, context());
      expect(checks.map(({ name, status }) => [name, status])).toEqual(names.map((name) => [name, "ok"]));
    }
    const statements = fake.seen.filter(({ path }) => /statements|queries/.test(path)).map(({ body }) => body);
    expect(statements.every((body) => body.includes("select 1"))).toBe(true);
    expect(statements.length).toBe(2);
    expect(fake.seen.find(({ headers }) => headers.get("x-amz-target"))?.headers.get("x-amz-target")).toBe("AWSGlue.GetDatabases");
    expect(fake.objects.size).toBe(0);
  });

  test("what cannot be called is untested, with the settings that it needs", async () => {
    const { private_key: _, ...rest } = fake.snowflake;
    const [check] = await tryConnection("snowflake", { ...rest, password: "hunter-of-rows" }, context());
    expect(check).toMatchObject({ status: "untested", message: expect.stringMatching(/set private_key or token/) });
    expect(fake.seen).toEqual([]);
  });

  test("credentials follow no redirect, to whatever address", async () => {
    for (const [type, values] of all()) {
      fake.seen.length = 0;
      fake.answer = () => new Response("", { status: 307, headers: { location: `${fake.url}/elsewhere` } });
      const redirected = await tryConnection(type, values, context());
      expect(redirected.every(({ message, status }) => status === "failed" && message.includes("credentials are not sent on"))).toBe(true);
      expect(fake.seen.some(({ path }) => path === "/elsewhere")).toBe(false);
    }
  });

  test("another system's words are passed on without secrets", async () => {
    const secret = fake.aws.secret_access_key;
    fake.answer = () => Response.json({ message: `The key ${secret} is wrong.` }, { status: 403 });
    const { private_key: _, ...snowflake } = fake.snowflake;
    const tried = [
      ...(await tryConnection("iceberg", { ...fake.aws, warehouse: "s3://lake" }, context())),
      ...(await tryConnection("snowflake", { ...snowflake, token: secret }, context())),
    ];
    expect(tried.length).toBe(3);
    for (const { message } of tried) expect(message).toEndWith(`${fake.host} answered 403: The key *** is wrong.`);
  });

  test("a silent server, one that answers without end, and none at all are failures with their reasons", async () => {
    const values = { ...fake.aws, warehouse: "s3://lake" };
    fake.answer = () => new Promise<never>(() => undefined);
    expect((await tryConnection("iceberg", values, context(50))).map(({ message }) => message)).toEqual([
      "nothing was answered within 0.05 s",
      "nothing was answered within 0.05 s",
    ]);
    fake.answer = () => new Response(new ReadableStream({ pull: (controller) => controller.enqueue(new Uint8Array(65_536)) }));
    expect((await tryConnection("iceberg", values, context())).map(({ message }) => message)).toEqual([
      `${fake.host} answered more than 64 KiB`,
      `an object cannot be put: ${fake.host} answered more than 64 KiB`,
    ]);
    using gone = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data: () => undefined } });
    const endpoint = `http://127.0.0.1:${gone.port}`;
    gone.stop(true);
    const [refused] = await tryConnection("iceberg", { ...values, endpoint }, context());
    expect([refused?.status, refused?.message]).toEqual(["failed", expect.stringContaining("cannot be reached")]);
  });
});
