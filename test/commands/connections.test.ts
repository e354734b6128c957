/** Cloud accounts, storage configurations and connections to offline stores, on the command line. */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { hashSecret } from "../../src/server/access/secrets.ts";
import { createSqliteMetadataStore } from "../../src/server/stores/metadata/sqlite.ts";
import { tempFolder } from "../client/test-context.ts";
import { type FakeClouds, startFakeClouds, xml } from "../server/connections/fake-clouds.ts";
import { type Platform, runCommand, startPlatform } from "./platform.ts";

let platform: Platform;
let fake: FakeClouds;
let folder: string;
beforeAll(async () => {
  platform = await startPlatform();
  fake = startFakeClouds();
  folder = tempFolder("svc-connections-");
});
afterAll(async () => {
  fake[Symbol.dispose]();
  await platform.server.stop();
});

const svc = (path: string, words: readonly string[] = [], options: object = {}) => runCommand(path, words, { ...platform, ...options });
const file = (name: string, content: object | string): string => {
  mkdirSync(folder, { recursive: true });
  const path = join(folder, name);
  writeFileSync(path, typeof content === "string" ? content : JSON.stringify(content));
  return path;
};
const idIn = (text: string): string => /(?:cred|sc|osc)_[0-9a-f]{32}/.exec(text)?.[0] ?? `no id in ${text}`;
/** What no output may have. */
const noSecret = ({ stderr, stdout }: { stderr: string; stdout: string }) => expect(stdout + stderr).not.toMatch(/c4nary|PRIVATE KEY/);

describe("cloud accounts", () => {
  test("are created, listed, tested and deleted, and show no secret", async () => {
    const created = await svc("cloud-account/create", ["--file", file("aws.yaml", { name: "prod", kind: "aws", settings: fake.aws })]);
    expect([created.stderr, created.exitCode, created.stdout]).toEqual([
      "",
      0,
      expect.stringMatching(/^ID: {3}cred_\w{32}\nName: prod\n$/),
    ]);
    const id = idIn(created.stdout);
    const listed = await svc("cloud-accounts/list");
    expect(listed.stdout).toMatch(new RegExp(`^ID +Name +Kind +Updated\\n${id} +prod +aws +20\\S+Z\\n$`));
    const json = await svc("cloud-account/list", ["--json"]);
    expect(json.json()).toMatchObject({ accounts: [{ id, settings: { ...fake.aws, secret_access_key: "********" } }] });
    const tested = await svc("cloud-account/test", [id]);
    expect([tested.exitCode, tested.stdout]).toEqual([0, expect.stringMatching(/credentials +ok +\S+: took the keys of arn:/)]);
    fake.answer = () => xml(403, "InvalidClientTokenId", `The key ${fake.aws.secret_access_key} is invalid.`);
    const failed = await svc("cloud-account/test", ["prod", "--json"]);
    fake.answer = undefined;
    expect([failed.exitCode, failed.json()]).toEqual([
      1,
      {
        checks: [
          { name: "credentials", status: "failed", message: expect.stringContaining("InvalidClientTokenId The key *** is invalid.") },
        ],
      },
    ]);
    for (const one of [created, listed, json, tested, failed]) noSecret(one);
    expect((await svc("cloud-account/delete", [id], { input: ["n"] })).exitCode).toBe(1);
    expect((await svc("cloud-account/delete", [id, "--yes"])).stdout).toBe(`Deleted: ${id}\n`);
    expect((await svc("cloud-account/test", [id])).stderr).toContain(`There is no cloud account '${id}'.`);
  });

  test("what is wrong in a file is named, without values", async () => {
    const wrong = [
      [{ name: "a", kind: "asw", settings: {} }, "did you mean 'aws'"],
      [{ name: "a", kind: "aws", settings: { ...fake.aws, regoin: "x" } }, "did you mean 'region'"],
      [{ name: "a", knd: "aws" }, "has the key 'knd'"],
      [{ name: "a", kind: "aws", settings: [] }, "settings that are no names with values"],
      [{ name: "a", kind: "gcp", settings: { service_account: { client_email: "c4nary" } } }, "The setting service_account is no key"],
      [{ name: "", kind: "aws", settings: fake.aws }, "needs one"],
    ] as const;
    for (const [content, said] of wrong) {
      const outcome = await svc("cloud-account/create", ["--file", file("wrong.json", content)]);
      expect([outcome.exitCode, outcome.stderr]).toEqual([1, expect.stringContaining(said)]);
      noSecret(outcome);
    }
    expect((await svc("cloud-account/list", ["--json"])).json()).toEqual({ accounts: [] });
  });

  test("without a terminal a file and an id are needed", async () => {
    for (const path of ["cloud-account/create", "cloud-account/test", "cloud-account/delete"]) {
      const outcome = await svc(path);
      expect([path, outcome.exitCode, outcome.stderr]).toEqual([path, 2, expect.stringContaining("is required when there is no terminal")]);
    }
  });
});

describe("storage configurations", () => {
  test("use an account, which stays as long as they do, and are tested by real calls", async () => {
    const settings = { ...fake.gcp, service_account: JSON.parse(fake.gcp.service_account) as object };
    const account = idIn((await svc("cloud-account/create", ["--file", file("gcp.json", { name: "g", kind: "gcp", settings })])).stdout);
    const config = {
      name: "main",
      designator: "eu",
      kind: "gcp",
      managed: false,
      cloud_credential_id: "g",
      dataset_bucket: "gs://data-sets/x",
    };
    const created = await svc("cloud/storage/configs/create", [file("storage.json", config)]);
    expect([created.stderr, created.stdout]).toEqual(["", expect.stringMatching(/^Name: main\nID: {3}sc_\w{32}\n$/)]);
    const id = idIn(created.stdout);
    expect((await svc("cloud/storage/config/list")).stdout).toMatch(/^ID +Name +Designator +Kind +Managed\nsc_\w+ +main +eu +gcp *\n$/);
    expect((await svc("cloud/storage/configs/get", [id, "--json"])).json()).toMatchObject({
      ...config,
      cloud_credential_id: account,
      plan_stages_bucket: null,
    });
    const tested = await svc("cloud/storage/configs/test", [id]);
    expect([tested.exitCode, tested.stdout]).toEqual([0, expect.stringMatching(/dataset_bucket +ok +gs:\S+: put, got and deleted one/)]);
    const refused = await svc("cloud-account/delete", [account, "--yes"]);
    expect([refused.exitCode, refused.stderr]).toEqual([1, expect.stringContaining("used by the storage configuration 'main'")]);
    expect((await svc("cloud/storage/configs/delete", ["main", "--yes"])).stdout).toBe(`Deleted: ${id}\n`);
    expect((await svc("cloud-account/delete", [account, "--yes"])).exitCode).toBe(0);
  });

  test("are read from stdin, and refused with what is wrong", async () => {
    const made = await svc("cloud/storage/configs/create", [], {
      input: ['{"name": "bare", "kind": "aws",', '"dataset_bucket": "s3://data-sets"}'],
    });
    expect(made.exitCode).toBe(0);
    const tested = await svc("cloud/storage/configs/test", ["bare"]);
    expect([tested.exitCode, tested.stdout]).toEqual([0, expect.stringMatching(/dataset_bucket +untested +.*cloud_credential_id/)]);
    const wrong = [
      [{ name: "bare", kind: "aws" }, "There is a storage configuration 'bare' already."],
      [{ name: "a", kind: "aws", dataset_buckets: "s3://b" }, "did you mean 'dataset_bucket'"],
      [{ name: "a", kind: "aws", dataset_bucket: "gs://bucket" }, "The key dataset_bucket is no address of a bucket of aws"],
      [{ name: "a", kind: "aws", dataset_bucket: "file:///etc" }, "folder of the server's machine"],
      [{ name: "a", kind: "aws", managed: "yes" }, "managed that is neither true nor false"],
      [{ name: "a", kind: "aws", cloud_credential_id: "cred_none" }, "There is no cloud account 'cred_none'."],
      [{ kind: "aws" }, "has no name"],
      [{ name: "a" }, "has no kind"],
    ] as const;
    for (const [content, said] of wrong) {
      const outcome = await svc("cloud/storage/configs/create", ["-"], { input: [JSON.stringify(content)] });
      expect([outcome.exitCode, outcome.stderr]).toEqual([1, expect.stringContaining(said)]);
    }
    expect((await svc("cloud/storage/configs/delete", ["bare", "--yes"])).exitCode).toBe(0);
    expect((await svc("cloud/storage/configs/get")).exitCode).toBe(2);
  });
});

describe("connections to offline stores", () => {
  const lake = () => ({ name: "lake", type: "iceberg", settings: { ...fake.aws, warehouse: "s3://lake" } });

  test("are tested before they are created, created, shown, changed and deleted", async () => {
    expect((await svc("offline-store/connection/get")).stderr).toContain("There are no connections.");
    const path = file("lake.json", lake());
    const before = await svc("offline-store/connection/test", ["--file", path]);
    expect([before.stderr, before.exitCode, before.stdout]).toEqual(["", 0, expect.stringMatching(/catalog +ok.*\nwarehouse +ok/)]);
    expect((await svc("offline-store/connection/list", ["--json"])).json()).toEqual({ connections: [] });
    const created = await svc("offline-store/connection/create", ["-f", path]);
    expect(created.stdout).toMatch(/^ID: {3}osc_\w{32}\nName: lake\n$/);
    const id = idIn(created.stdout);
    expect((await svc("offline-store/connections/list")).stdout).toMatch(
      /^ID +Name +Type +Active +Created\nosc_\w+ +lake +iceberg +- +20\S+Z\n$/,
    );
    const shown = await svc("offline-store/connection/get", ["--json"]);
    expect(shown.json()).toMatchObject({ id, active: false, settings: { warehouse: "s3://lake", secret_access_key: "********" } });
    const changed = await svc("offline-store/connection/update", [
      id,
      "--file",
      file("change.yaml", "name: sea\nsettings:\n  warehouse: s3://sea\n"),
    ]);
    expect(changed.stdout).toBe(`Updated the connection sea (${id}).\n`);
    expect((await svc("offline-store/connection/test", [id])).stdout).toMatch(/warehouse +ok +s3:\/\/sea: put/);
    expect((await svc("offline-store/connection/test", [id, "--file", path])).exitCode).toBe(2);
    for (const one of [before, created, shown, changed]) noSecret(one);
    expect((await svc("offline-store/connection/delete", [id, "--yes"])).stdout).toBe(`Deleted the connection sea (${id}).\n`);
  });

  test("are not activated without a driver, and nothing is changed", async () => {
    await svc("offline-store/connection/create", ["-f", file("lake.json", lake())]);
    await svc("offline-store/connection/create", ["-f", file("sea.json", { ...lake(), name: "sea" })]);
    const refused = await svc("offline-store/connection/activate", ["lake"]);
    expect([refused.exitCode, refused.stderr]).toEqual([1, expect.stringContaining("this version has no driver for iceberg")]);
    const { connections } = (await svc("offline-store/connection/list", ["--json"])).json() as { connections: { active: boolean }[] };
    expect(connections.map(({ active }) => active)).toEqual([false, false]);
    expect((await svc("offline-store/connection/deactivate")).stderr).toContain("No connection is active");
    for (const verb of ["get", "test"])
      expect((await svc(`offline-store/connection/${verb}`)).stderr).toContain(
        "No connection is active in environment 'default', and there are 2.",
      );
  });

  test("only who may change settings has the server make calls", async () => {
    const store = createSqliteMetadataStore({ path: join(platform.home, "data/meta.db"), programVersion: "v0.0.0-test" });
    const [environment] = await store.environments();
    const reader = { id: "client_reader", teamId: environment?.teamId ?? "", name: "reader", secretHash: hashSecret("reader") };
    await store.createClient({ ...reader, permissions: ["read", "secrets.write", "infra.write"], createdAt: 1 });
    await store.close();
    const env = { ...platform.env, SVC_CLIENT_ID: "client_reader", SVC_CLIENT_SECRET: "reader" };
    expect((await svc("offline-store/connection/list", ["--json"], { env })).exitCode).toBe(0);
    fake.seen.length = 0;
    const path = file("lake.json", lake());
    for (const [verb, words] of [
      ["offline-store/connection/test", ["--file", path]],
      ["offline-store/connection/create", ["--file", path]],
      ["offline-store/connection/activate", ["lake"]],
      ["offline-store/connection/delete", ["lake", "--yes"]],
      ["cloud-account/create", ["--file", file("other.json", { name: "other", kind: "aws", settings: fake.aws })]],
    ] as const) {
      const outcome = await svc(verb, words, { env });
      expect([verb, outcome.exitCode !== 0, outcome.stderr]).toEqual([verb, true, expect.stringContaining("settings.write")]);
    }
    expect(fake.seen).toEqual([]);
  });
});
