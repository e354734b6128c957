/**
 * Data directories as releases wrote them, opened by this build: brought to its schema with a
 * backup kept, and everything that was promised is there. Each is an archive of a home folder in
 * which `features.py` below was deployed and queried for the users 1 to 3, made with the binary of
 * that release.
 */

import { Database } from "bun:sqlite";
import { expect, setDefaultTimeout, test } from "bun:test";
import { chmodSync, existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { METADATA_MIGRATIONS } from "../../src/server/stores/metadata/schema.ts";
import { METRICS_MIGRATIONS } from "../../src/server/stores/metrics/schema.ts";
import { OFFLINE_MIGRATIONS } from "../../src/server/stores/offline/schema.ts";
import { createSqliteOfflineStore } from "../../src/server/stores/offline/sqlite.ts";
import { ONLINE_MIGRATIONS } from "../../src/server/stores/online/schema.ts";
import { TELEMETRY_MIGRATIONS } from "../../src/server/stores/telemetry/schema.ts";
import { Sandbox } from "../harness/sandbox.ts";

setDefaultTimeout(300_000);

const ARCHIVES = join(import.meta.dir, "../fixtures/data-directories");
const NEWEST = {
  "meta.db": METADATA_MIGRATIONS,
  "online.db": ONLINE_MIGRATIONS,
  "offline.db": OFFLINE_MIGRATIONS,
  "telemetry.db": TELEMETRY_MIGRATIONS,
  "metrics.db": METRICS_MIGRATIONS,
};

/** The schema of a file; 0 where a release had none of it. */
function schemaOf(path: string): number {
  if (!existsSync(path)) return 0;
  const db = new Database(path, { readonly: true });
  const version = db.query<{ user_version: number }, []>("pragma user_version").get()?.user_version ?? 0;
  db.close();
  return version;
}

async function unpacked(archive: string): Promise<Sandbox> {
  const sandbox = new Sandbox();
  const unpacking = Bun.spawnSync(["tar", "-xzf", join(ARCHIVES, archive), "-C", sandbox.home]);
  expect(unpacking.stderr.toString()).toBe("");
  chmodSync(join(sandbox.home, ".svc/data"), 0o700);
  return sandbox;
}

test.each(readdirSync(ARCHIVES))("%s", async (archive) => {
  await using sandbox = await unpacked(archive);
  const data = join(sandbox.home, ".svc/data");
  const before = Object.fromEntries(Object.keys(NEWEST).map((name) => [name, schemaOf(join(data, name))]));
  await sandbox.startServer();

  expect(await sandbox.svc(["features", "list"])).toMatchObject({ exitCode: 0, stdout: expect.stringContaining("user.greeting") });
  expect(await sandbox.svc(["resolvers"])).toMatchObject({ exitCode: 0, stdout: expect.stringContaining("features.length") });
  interface Answer {
    readonly data: readonly { readonly field: string; readonly value: unknown; readonly meta?: unknown }[];
  }
  const ask = (...words: string[]) => sandbox.json<Answer>(["query", "--in", "user.id=2", "--out", "user.greeting", ...words]);
  expect((await ask()).data).toMatchObject([{ field: "user.greeting", value: "hello name2, user 2, process True" }]);
  expect((await ask("--in", "user.name=other")).data).toMatchObject([{ value: "hello name2, user 2, process True" }]);
  const computed = await sandbox.json<Answer>([
    "query",
    "--in",
    "user.id=9",
    "--in",
    "user.name=nine",
    "--out",
    "user.length",
    "--out",
    "user.greeting",
  ]);
  expect(computed.data.map(({ value }) => value).sort()).toEqual([4, "hello nine, user 9, process True"]);
  expect((await sandbox.svc(["healthcheck"])).exitCode).toBe(0);
  expect(await sandbox.svc(["source", "--output-dir", join(sandbox.work, "source")])).toMatchObject({ exitCode: 0 });
  expect(existsSync(join(sandbox.work, "source/features.py"))).toBe(true);
  expect(await sandbox.svc(["apply", "--force", "--await"], { cwd: join(sandbox.work, "source") })).toMatchObject({ exitCode: 0 });
  const { projects } = await sandbox.json<{ projects: { environments: string[] }[] }>(["project", "list"]);
  expect(projects.map(({ environments }) => environments)).toEqual([["default"]]);
  await sandbox.svc(["server", "stop"]);
  sandbox.url = "";

  for (const [name, migrations] of Object.entries(NEWEST)) {
    const old = before[name] as number;
    expect([name, schemaOf(join(data, name))]).toEqual([name, migrations.length]);
    const backup = join(data, `${name}.v${old}.backup`);
    expect([name, existsSync(backup)]).toEqual([name, old > 0 && old < migrations.length]);
    if (existsSync(backup)) expect([name, schemaOf(backup)]).toEqual([name, old]);
  }

  const history = createSqliteOfflineStore({ path: join(data, "offline.db"), programVersion: "test", now: Date.now });
  const rows: unknown[] = [];
  for (let featureId = 1; featureId < 20; featureId++) {
    const page = await history.scan(featureId, { limit: 100 }).catch(() => undefined);
    if (page) rows.push(...page.map(({ key, value }) => `${key} ${value}`));
  }
  await history.close();
  expect(rows).toEqual(
    expect.arrayContaining(["i:1 hello name1, user 1, process True", "i:3 hello name3, user 3, process True", "i:3 5", "i:9 4"]),
  );
});
