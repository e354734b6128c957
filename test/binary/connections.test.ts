/**
 * Cloud accounts and connections to offline stores in the compiled binary: their secrets come out
 * nowhere, and work after the server was started again.
 */

import { afterAll, beforeAll, expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type Outcome, Sandbox } from "../harness/sandbox.ts";
import { Terminal } from "../harness/terminal.ts";
import { type FakeClouds, startFakeClouds } from "../server/connections/fake-clouds.ts";

let sandbox: Sandbox;
let fake: FakeClouds;
beforeAll(async () => {
  sandbox = new Sandbox();
  fake = startFakeClouds();
  await sandbox.startServer();
});
afterAll(async () => {
  fake[Symbol.dispose]();
  await sandbox[Symbol.asyncDispose]();
});

const SECRETS = () => {
  const key = (JSON.parse(fake.gcp.service_account) as { private_key: string }).private_key.split("\n")[3] ?? "";
  const texts = [fake.aws.secret_access_key, "c4nary-google-token", "c4nary-typed", key];
  return texts.flatMap((text) => [text, JSON.stringify(text).slice(1, -1), encodeURIComponent(text), btoa(text).replace(/=+$/, "")]);
};
const leaks = (text: string) => SECRETS().filter((secret) => text.includes(secret));
const said: Outcome[] = [];
const svc = async (...words: string[]): Promise<Outcome> => {
  const outcome = await sandbox.svc([...words, "-vv"]);
  said.push(outcome);
  return outcome;
};

/** Files below a folder in which a text stands. */
function having(folder: string, isThere: (text: string) => boolean): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((path) => isThere(readFileSync(path, "latin1")));
}

/** Files below a folder in which a secret stands. */
const leaking = (folder: string): string[] => having(folder, (text) => leaks(text).length > 0);

test("secrets reach the other system, and nothing else: no output, no log, no file of the server", async () => {
  const { gcp, aws, snowflake } = fake;
  const write = async (name: string, content: object) => join(await sandbox.write({ [name]: JSON.stringify(content) }, "given"), name);
  const lake = { name: "lake", type: "iceberg", settings: { ...aws, warehouse: "s3://lake/tables" } };
  const files = {
    aws: await write("aws.json", { name: "aws", kind: "aws", settings: aws }),
    gcp: await write("gcp.json", {
      name: "gcp",
      kind: "gcp",
      settings: { ...gcp, service_account: JSON.parse(gcp.service_account) as object },
    }),
    storage: await write("storage.json", { name: "main", kind: "aws", cloud_credential_id: "aws", dataset_bucket: "s3://data-sets" }),
    lake: await write("lake.json", lake),
    snow: await write("snow.json", { name: "snow", type: "snowflake", settings: snowflake }),
  };
  const commands: readonly string[][] = [
    ["cloud-account", "create", "--file", files.aws],
    ["cloud-account", "create", "--file", files.gcp],
    ["cloud-account", "list", "--json"],
    ["cloud-account", "test", "aws"],
    ["cloud-account", "test", "gcp"],
    ["cloud", "storage", "configs", "create", files.storage],
    ["cloud", "storage", "configs", "test", "main"],
    ["offline-store", "connection", "test", "--file", files.lake],
    ["offline-store", "connection", "create", "--file", files.lake],
    ["offline-store", "connection", "create", "--file", files.snow],
    ["offline-store", "connection", "get", "lake", "--json"],
    ["offline-store", "connection", "test", "snow"],
  ];
  for (const words of commands) {
    const { exitCode, stderr } = await svc(...words);
    expect([words.join(" "), exitCode, exitCode === 0 ? "" : stderr]).toEqual([words.join(" "), 0, ""]);
  }
  expect(await svc("cloud-account", "delete", "aws", "--yes")).toMatchObject({ exitCode: 1, stderr: expect.stringContaining("'main'") });
  expect(await svc("offline-store", "connection", "activate", "lake")).toMatchObject({
    exitCode: 1,
    stderr: expect.stringContaining("no driver for iceberg"),
  });

  await sandbox.svc(["server", "stop"]);
  await sandbox.startServer();
  const after = await svc("offline-store", "connection", "test", "lake");
  expect([after.exitCode, after.stdout]).toEqual([0, expect.stringMatching(/catalog +ok[^\n]*\nwarehouse +ok/)]);
  expect(fake.objects.size).toBe(0);
  expect(said.flatMap(({ stderr, stdout }) => leaks(stdout + stderr))).toEqual([]);
  expect(leaking(sandbox.home)).toEqual([]);
  expect(having(sandbox.home, (text) => text.includes("s3://lake/tables"))).not.toEqual([]);
  expect(leaking(join(sandbox.work, "given")).length).toBe(4);
}, 300_000);

test("on a terminal what is missing is asked for, secrets without echo", async () => {
  const terminal = Terminal.start(sandbox, ["cloud-account", "create"]);
  await terminal.until("Which kind of cloud account?");
  terminal.press("\r");
  const answers = [
    ["Name of the cloud account", "typed"],
    ["region: region", "eu-central-1"],
    ["access_key_id: access key id", "AKIDTYPED"],
    ["Enter the secret_access_key", "c4nary-typed"],
    ["Enter the session_token", ""],
    ["endpoint: address in place", fake.url],
  ] as const;
  for (const [question, answer] of answers) {
    await terminal.until(question);
    terminal.press(`${answer}\r`);
  }
  const ended = await terminal.ended();
  expect([ended.exitCode, ended.after]).toEqual([0, ended.before]);
  expect(ended.screen).toContain("cred_");
  expect(ended.screen).not.toMatch(/c4nary/);
  fake.answer = undefined;
  const tested = await svc("cloud-account", "test", "typed");
  expect([tested.exitCode, tested.stdout]).toEqual([1, expect.stringContaining("SignatureDoesNotMatch")]);
  expect(leaking(sandbox.home)).toEqual([]);
});
