/**
 * Stores outside of the data directory: who may say where they are, and what is done about a place
 * that cannot be used.
 */

import { Database } from "bun:sqlite";
import { describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { readServerFile } from "../../../src/server/boot/server-file.ts";
import { type StartOptions, start } from "../../../src/server/boot/start.ts";
import { readStoreSettings } from "../../../src/server/boot/store-settings.ts";
import { METADATA_MIGRATIONS } from "../../../src/server/stores/metadata/schema.ts";
import { TempFolder, TestClock, TestServer } from "../../harness/running-server.ts";

const optionsIn = (folder: string, options: Partial<StartOptions> = {}): StartOptions => ({
  port: 0,
  dataDir: join(folder, "data"),
  clock: new TestClock(),
  env: {},
  log: () => undefined,
  version: "1.0.0",
  ...options,
});
const refusal = (folder: string, options: Partial<StartOptions>) =>
  start(optionsIn(folder, options)).then(
    async (server) => {
      await server.stop();
      throw new Error("the server started");
    },
    (error: Error & { code?: string; hint?: string }) => error,
  );
/** Whether a start with these options works, now that nothing stands in its way. */
const starts = async (folder: string, options: Partial<StartOptions>) => {
  await (await start(optionsIn(folder, options))).stop();
};

describe("settings", () => {
  test("a flag goes before the environment, and that before the file", () => {
    using folder = new TempFolder();
    const file = join(folder.path, "server.yaml");
    writeFileSync(
      file,
      "# where things are\nstores:\n  metadata: sqlite:/file/meta.db\n  object: file:/file/objects\n  online: sqlite:/file/online.db\n",
    );
    const env = { SVC_METADATA_STORE: "sqlite:/env/meta.db", SVC_OBJECT_STORE: "file:/env/objects", SVC_OFFLINE_STORE: "" };
    expect(readStoreSettings({ flags: { metadata: "sqlite:/flag/meta.db" }, env, file: readServerFile(file) })).toEqual({
      metadata: { address: "sqlite:/flag/meta.db", setBy: "`--store`" },
      object: { address: "file:/env/objects", setBy: "SVC_OBJECT_STORE" },
      online: { address: "sqlite:/file/online.db", setBy: file },
    });
    expect(readStoreSettings({ flags: {}, env: {}, file: readServerFile(join(folder.path, "none.yaml")) })).toEqual({});
  });

  test.each([
    ["stores:\n  metdata: sqlite:/a\n", "there is no store 'metdata'", "metadata"],
    ["store:\n  metadata: sqlite:/a\n", "has the setting 'store'", "stores"],
    ["stores:\n  metadata: 5\n", "stores.metadata is not text", "<scheme>"],
    ["stores: [a]\n", "'stores' is not a mapping", ""],
    ["- a\n", "It is not a mapping", ""],
    ["stores: {\n", "is not YAML", ""],
  ])("a file with %j is refused, and nothing is made", async (text, message, hint) => {
    using folder = new TempFolder();
    mkdirSync(join(folder.path, "data"));
    writeFileSync(join(folder.path, "data", "server.yaml"), text);
    const error = await refusal(folder.path, {});
    expect(error.code).toBe("setting_invalid");
    expect(error.message).toContain(message);
    expect(error.hint).toContain(hint);
    expect(error.message).toContain(join(folder.path, "data", "server.yaml"));
    expect(readdirSync(join(folder.path, "data"))).toEqual(["server.yaml"]);
  });

  test("a flag for a store that there is not is refused", async () => {
    using folder = new TempFolder();
    expect(await refusal(folder.path, { stores: { objects: "file:/a" } })).toMatchObject({
      code: "setting_invalid",
      message: "`--store`: there is no store 'objects'.",
      hint: expect.stringContaining("object"),
    });
  });
});

describe("addresses", () => {
  test.each([
    ["postgres://svc:hunter22@db.example.com/svc", "There is no driver 'postgres'"],
    ["sqlite:meta.db", "'meta.db' is not an absolute path"],
    ["sqlite:/srv/meta.db?mode=ro", "'/srv/meta.db?mode=ro' is not an absolute path"],
    ["sqlite://host/meta.db", "'//host/meta.db'"],
    ["/srv/meta.db", "It is no address"],
    ["", "It is no address"],
  ])("%s is refused with what there is", async (address, reason) => {
    using folder = new TempFolder();
    const error = await refusal(folder.path, { stores: { metadata: address }, env: { SVC_METADATA_STORE: "sqlite:/other/meta.db" } });
    expect([error.code, error.hint]).toEqual(["setting_invalid", expect.stringContaining("sqlite:<absolute path of a file>")]);
    expect(error.message).toStartWith("The metadata store, which `--store` sets to '");
    expect(error.message).toContain(reason);
    expect(Bun.inspect(error)).not.toContain("hunter22");
    await starts(folder.path, {});
  });

  test("a place in the data directory is refused", async () => {
    using folder = new TempFolder();
    for (const place of ["other.db", "deployments/../meta.db", ""]) {
      const error = await refusal(folder.path, { stores: { metadata: `sqlite:${join(folder.path, "data", place)}` } });
      expect(error.message).toContain("is in the data directory");
    }
  });
});

describe("stores elsewhere", () => {
  const elsewhere = (folder: string) => ({
    metadata: `sqlite:${join(folder, "else", "meta.db")}`,
    object: `file://${join(folder, "else", "objects")}`,
    online: `sqlite:${join(folder, "else", "online.db")}`,
    offline: `sqlite:${join(folder, "else", "offline.db")}`,
    telemetry: `sqlite:${join(folder, "else", "telemetry.db")}`,
    logs: `sqlite:${join(folder, "else", "logs.db")}`,
    metrics: `sqlite:${join(folder, "else", "metrics.db")}`,
    topics: `sqlite:${join(folder, "else", "topics.db")}`,
  });

  test("they are there, private, and nothing of them is in the data directory", async () => {
    using folder = new TempFolder();
    const stores = elsewhere(folder.path);
    const first = await TestServer.start(folder.path, { stores });
    const { credentials } = first;
    await first.server.ready;
    await first.server.stop();
    const there = join(folder.path, "else");
    expect(readdirSync(join(folder.path, "data")).filter((name) => /\.db|objects/.test(name))).toEqual([]);
    expect(readdirSync(there)).toEqual(expect.arrayContaining(["meta.db", "metrics.db", "online.db", "objects"]));
    for (const name of readdirSync(there)) expect(statSync(join(there, name)).mode & 0o077).toBe(0);
    expect(statSync(there).mode & 0o077).toBe(0);
    await using second = await TestServer.start(folder.path, { stores, credentials });
    expect((await second.exchange(credentials.clientId, credentials.clientSecret)).status).toBe(200);
  });

  test("a place has one server at a time, and is free when it stops", async () => {
    using folder = new TempFolder();
    const { metadata, object } = elsewhere(folder.path);
    const other = { dataDir: join(folder.path, "other"), stores: { metadata } };
    {
      await using _ = await TestServer.start(folder.path, { stores: { metadata, object } });
      expect(await refusal(folder.path, other)).toMatchObject({
        code: "locked",
        message: expect.stringMatching(/which `--store` sets to .*else\/meta\.db is held by another server/),
      });
      expect(await refusal(folder.path, { ...other, stores: { object } })).toMatchObject({ code: "locked" });
      await starts(folder.path, { dataDir: other.dataDir });
    }
    rmSync(other.dataDir, { recursive: true });
    await starts(folder.path, other);
  });

  test("two stores cannot be at one place", async () => {
    using folder = new TempFolder();
    const { metadata } = elsewhere(folder.path);
    expect(await refusal(folder.path, { stores: { metadata, online: metadata } })).toMatchObject({
      code: "locked",
      message: expect.stringContaining("is the place of another store"),
    });
    await starts(folder.path, { stores: { metadata } });
  });

  test("another program's file, a newer one, a link and what is no database are refused untouched, with who named them", async () => {
    using folder = new TempFolder();
    const there = join(folder.path, "else");
    const path = join(there, "meta.db");
    mkdirSync(there);
    const cases: [string, () => void][] = [
      ["is not a database of this program", () => void withDatabase(path, "create table t (a)", "pragma user_version = 1")],
      [
        `has schema ${METADATA_MIGRATIONS.length + 1}`,
        () =>
          void withDatabase(
            path,
            "create table t (a)",
            `pragma user_version = ${METADATA_MIGRATIONS.length + 1}`,
            `pragma application_id = ${0x7376636d}`,
          ),
      ],
      ["cannot be read", () => writeFileSync(path, "text ".repeat(100))],
    ];
    for (const [message, make] of cases) {
      make();
      const before = readFileSync(path);
      const error = await refusal(folder.path, { env: { SVC_METADATA_STORE: `sqlite:${path}` } });
      expect(error.message).toContain(message);
      expect(error.message).toStartWith("The metadata store, which SVC_METADATA_STORE sets to");
      expect(`${error.hint}`).toContain("set another address");
      expect(readFileSync(path)).toEqual(before);
      rmSync(path);
    }
    writeFileSync(join(there, "target"), "");
    symlinkSync(join(there, "target"), path);
    expect(await refusal(folder.path, { env: { SVC_METADATA_STORE: `sqlite:${path}` } })).toMatchObject({ code: "data_unusable" });
    expect(statSync(join(there, "target")).size).toBe(0);
  });

  test("a folder that cannot be made is an error with the reason", async () => {
    using folder = new TempFolder();
    writeFileSync(join(folder.path, "file"), "");
    expect(await refusal(folder.path, { stores: { object: `file:${join(folder.path, "file", "objects")}` } })).toMatchObject({
      code: "data_unusable",
      message: expect.stringContaining("The object store, which `--store` sets to"),
    });
    await starts(folder.path, {});
  });

  test("an error that is not about a store does not name one", async () => {
    using folder = new TempFolder();
    const other = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: () => new Response() });
    const { metadata } = elsewhere(folder.path);
    const error = await refusal(folder.path, { port: other.port ?? 0, stores: { metadata } });
    await other.stop(true);
    expect([error.code, error.message.includes("metadata store")]).toEqual(["port_in_use", false]);
    await starts(folder.path, { stores: { metadata } });
  });

  test("a server whose stores are elsewhere is not begun anew", async () => {
    using folder = new TempFolder();
    expect(await refusal(folder.path, { anew: true, stores: { online: `sqlite:${join(folder.path, "else.db")}` } })).toMatchObject({
      code: "setting_invalid",
      message: expect.stringContaining("the online store is elsewhere"),
    });
    expect(existsSync(join(folder.path, "data"))).toBe(false);
  });

  test("a data directory whose store is suddenly somewhere else, where there is nothing, is refused until it is back", async () => {
    using folder = new TempFolder();
    const { metadata } = elsewhere(folder.path);
    await starts(folder.path, { stores: { metadata } });
    for (const options of [{}, { stores: { metadata: `sqlite:${join(folder.path, "third.db")}` } }]) {
      const error = await refusal(folder.path, options);
      expect([error.code, error.hint]).toEqual(["data_missing", expect.stringContaining(join(folder.path, "else", "meta.db"))]);
      expect(error.message).toContain("environments, credentials and deployments");
    }
    await starts(folder.path, { stores: { metadata } });
    using another = new TempFolder();
    await starts(another.path, {});
    expect(await refusal(another.path, { stores: { metadata: `sqlite:${join(another.path, "new.db")}` } })).toMatchObject({
      code: "data_missing",
    });
    await starts(another.path, {});
  });
});

function withDatabase(path: string, ...statements: readonly string[]): void {
  const db = new Database(path, { create: true });
  for (const statement of statements) db.run(statement);
  db.close();
}
