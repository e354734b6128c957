import { Database } from "bun:sqlite";
import { describe, expect, test } from "bun:test";
import { chmodSync, existsSync, readdirSync, readFileSync, statSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { HealthService } from "../../../gen/svc/v1/health_pb.ts";
import { readServerNote, start } from "../../../src/server/boot/start.ts";
import { METADATA_MIGRATIONS } from "../../../src/server/stores/metadata/schema.ts";
import { openOutbox } from "../../../src/server/stores/metadata/sqlite-outbox.ts";
import { TempFolder, TestClock, TestServer } from "../../harness/running-server.ts";
import { spawnServer } from "../../harness/spawned-server.ts";

const options = (folder: string) => ({
  port: 0,
  dataDir: join(folder, "data"),
  clock: new TestClock(),
  env: {},
  log: () => undefined,
  version: "1.0.0",
});

describe("the lock", () => {
  test("a second start says who holds the folder, and harms nothing", async () => {
    using folder = new TempFolder();
    await using server = await TestServer.start(folder.path);
    await expect(start(options(folder.path))).rejects.toMatchObject({
      code: "locked",
      message: `The data directory ${join(folder.path, "data")} is held by a server that runs already: process ${process.pid} at ${server.url}.`,
    });
    expect((await fetch(`${server.url}/health`)).status).toBe(200);
    expect(readServerNote(join(folder.path, "data"))).toMatchObject({ pid: process.pid, url: server.url });
  });

  test("another process's lock holds, and is free at once when that is killed", async () => {
    using folder = new TempFolder();
    await using holder = await spawnServer(folder.path);
    const { credentials } = holder;
    await expect(start(options(folder.path))).rejects.toMatchObject({
      code: "locked",
      message: expect.stringContaining(`process ${holder.pid} at ${holder.url}`),
    });
    await holder.kill();
    await using server = await TestServer.start(folder.path, { credentials });
    expect((await server.exchange(credentials.clientId, credentials.clientSecret)).status).toBe(200);
  });

  test("a stop removes the note and frees the folder; the credentials stay good", async () => {
    using folder = new TempFolder();
    const first = await TestServer.start(folder.path);
    const token = await first.token();
    await first.server.stop();
    await first.server.stop();
    expect(existsSync(join(folder.path, "data", "server.json"))).toBe(false);
    await using second = await TestServer.start(folder.path, { credentials: first.credentials });
    expect(second.server.initialCredentials).toBeUndefined();
    expect((await fetch(`${second.url}/v1/who-am-i`, { headers: { authorization: `Bearer ${token}` } })).status).toBe(200);
  });
});

describe("the folder", () => {
  test("everything in it is private, whatever the umask", async () => {
    using folder = new TempFolder();
    const before = process.umask(0);
    try {
      await using server = await TestServer.start(folder.path);
      await server.server.ready;
      const open = readdirSync(join(folder.path, "data"), { recursive: true, withFileTypes: true })
        .map((entry) => join(entry.parentPath, entry.name))
        .filter((path) => (statSync(path).mode & 0o077) !== 0);
      expect(open).toEqual([]);
      expect(statSync(join(folder.path, "data")).mode & 0o777).toBe(0o700);
    } finally {
      process.umask(before);
    }
  });

  test("a link in the key's place, a key that others may read and a damaged one are refused", async () => {
    using folder = new TempFolder();
    const key = join(folder.path, "data", "server.key");
    await (await TestServer.start(folder.path)).server.stop();
    chmodSync(key, 0o644);
    await expect(start(options(folder.path))).rejects.toMatchObject({ code: "data_unusable" });
    await Bun.write(key, "short");
    chmodSync(key, 0o600);
    await expect(start(options(folder.path))).rejects.toMatchObject({ code: "data_unusable" });
    await Bun.file(key).delete();
    symlinkSync("/dev/zero", key);
    await expect(start(options(folder.path))).rejects.toThrow();
  });

  test.each(["meta.db", "meta.outbox.db", "online.db", "telemetry.db", "metrics.db", "logs.db", "topics.db"])(
    "a newer %s is refused and no database is touched",
    async (name) => {
      using folder = new TempFolder();
      const first = await TestServer.start(folder.path);
      // Every store is opened by its probe.
      await first.client(HealthService).checkHealth({});
      await first.server.stop();
      const path = join(folder.path, "data", name);
      openOutbox({ path: join(folder.path, "data", "meta.outbox.db"), programVersion: "1" }, Date.now).close();
      const db = new Database(path);
      db.run(`pragma user_version = ${METADATA_MIGRATIONS.length + 100}`);
      db.run("pragma wal_checkpoint(truncate)");
      db.close();
      const files = ["meta.db", "meta.outbox.db", "online.db", "telemetry.db", "metrics.db", "logs.db", "topics.db"].map((file) =>
        join(folder.path, "data", file),
      );
      const before = files.map((file) => readFileSync(file));
      await expect(start(options(folder.path))).rejects.toMatchObject({ code: "newer_schema" });
      expect(files.map((file) => readFileSync(file))).toEqual(before);
      await expect(start(options(folder.path))).rejects.toMatchObject({ code: "newer_schema" });
    },
  );

  test("a new state leaves nothing of the old one, and keeps all of it", async () => {
    using folder = new TempFolder();
    const data = join(folder.path, "data");
    await (await TestServer.start(folder.path))[Symbol.asyncDispose]();
    const history = ["offline.db", "offline.duckdb", "offline.duckdb.wal"];
    for (const name of history) await Bun.write(join(data, name), "of the old state");
    const old = readFileSync(join(data, "server.key"));
    await (await start({ ...options(folder.path), anew: true })).stop();
    const [aside = ""] = readdirSync(data).filter((name) => name.startsWith("set-aside-"));
    expect(readdirSync(join(data, aside))).toEqual(expect.arrayContaining([...history, "meta.db", "server.key"]));
    expect(readFileSync(join(data, "server.key")).equals(old)).toBe(false);
    for (const name of history.slice(1)) expect([name, existsSync(join(data, name))]).toEqual([name, false]);
  });

  test("a folder that cannot be made is said", async () => {
    using folder = new TempFolder();
    await Bun.write(join(folder.path, "data"), "a file");
    await expect(start(options(folder.path))).rejects.toMatchObject({ code: "data_unusable" });
  });
});
