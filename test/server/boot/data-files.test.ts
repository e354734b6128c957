/**
 * Damage to each file of a data directory (missing, empty, garbage, truncated): the start is
 * refused with a message and changes nothing, or only what need not be kept is lost.
 */

import { Database } from "bun:sqlite";
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { cpSync, existsSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { EnvironmentService } from "../../../gen/svc/v1/environment_pb.ts";
import { eventually } from "../../harness/eventually.ts";
import { TempFolder, TestServer } from "../../harness/running-server.ts";
import { deploy, expectLive, GREETING } from "../deployments/deploying.ts";
import { Pusher } from "../streams/pusher.ts";

const GREETED = "hello user 3";

let template: TempFolder;
let running: TempFolder;
let credentials: TestServer["credentials"];

/**
 * The data directory of a stopped server, and that of a killed one, where everything is still in
 * the write-ahead logs.
 */
beforeAll(async () => {
  template = new TempFolder();
  running = new TempFolder();
  const server = await TestServer.start(template.path);
  credentials = server.credentials;
  expectLive(await deploy(server, GREETING));
  expect(await greeting(server)).toBe(GREETED);
  const data = join(template.path, "data");
  await eventually(() => existsSync(join(data, "offline.db-wal")), "the log of offline.db");
  await Bun.sleep(50);
  cpSync(template.path, running.path, { recursive: true });
  await server.server.stop();
}, 300_000);
afterAll(() => {
  template[Symbol.dispose]();
  running[Symbol.dispose]();
});

async function greeting(server: TestServer): Promise<unknown> {
  const response = await fetch(`${server.url}/v1/query/online`, {
    method: "POST",
    headers: { authorization: `Bearer ${await server.token()}` },
    body: JSON.stringify({ inputs: { "user.id": 3 }, outputs: ["user.greeting"] }),
  });
  return ((await response.json()) as { data?: { value: unknown }[] }).data?.[0]?.value;
}

const DAMAGES: Readonly<Record<string, (path: string) => void>> = {
  missing: (path) => rmSync(path),
  empty: (path) => truncateSync(path, 0),
  garbage: (path) => writeFileSync(path, Buffer.alloc(5_000, "x")),
  cut: (path) => truncateSync(path, Math.floor(readFileSync(path).length / 2)),
};

/** The expected outcome of a start: the code of its error, `serves`, or either of the two. */
type Outcome = "serves" | "data_missing" | "data_damaged" | "data_unusable";
const EXPECTED: Readonly<Record<string, Readonly<Record<string, Outcome | readonly Outcome[]>>>> = {
  "meta.db": { missing: "data_missing", empty: "data_missing", garbage: "data_damaged", cut: "data_damaged" },
  "offline.db": { missing: "data_missing", empty: "data_missing", garbage: "data_damaged", cut: "data_damaged" },
  "online.db": { missing: "serves", empty: "serves", garbage: "serves", cut: "serves" },
  "telemetry.db": { missing: "serves", empty: "serves", garbage: "serves", cut: "serves" },
  "metrics.db": { missing: "serves", empty: "serves", garbage: "serves", cut: "serves" },
  "logs.db": { missing: "serves", empty: "serves", garbage: "serves", cut: "serves" },
  "topics.db": { missing: "serves", empty: "serves", garbage: "data_damaged", cut: "data_damaged" },
  "server.key": { missing: "serves", empty: "data_unusable", garbage: "data_unusable", cut: "data_unusable" },
  "server.lock": { missing: "serves", empty: "serves", garbage: "data_unusable" },
  "server.json": { missing: "serves", empty: "serves", garbage: "serves", cut: "serves" },
  "stores.json": { missing: "serves", empty: "serves", garbage: "serves", cut: "serves" },
};
const CASES = Object.entries(EXPECTED).flatMap(([file, outcomes]) =>
  Object.entries(outcomes).map(([damage, outcome]) => [file, damage, outcome] as const),
);

/** The outcome of starting on a copy of a data directory with one damaged file. */
async function startDamaged(from: TempFolder, file: string, damage: string) {
  const folder = new TempFolder();
  cpSync(from.path, folder.path, { recursive: true });
  const path = join(folder.path, "data", file);
  if (!existsSync(path)) writeFileSync(path, JSON.stringify({ pid: process.pid, url: "http://127.0.0.1:1" }));
  DAMAGES[damage]?.(path);
  const files = () =>
    readdirSync(join(folder.path, "data"))
      .filter((name) => /\.db$|server\.key|stores\.json/.test(name))
      .sort()
      .map((name) => [name, Bun.hash(readFileSync(join(folder.path, "data", name)))]);
  const before = files();
  const log: string[] = [];
  const server = await TestServer.start(folder.path, { credentials }).catch((error: unknown) => error as Error & { code: string });
  return { folder, path, before, files, log, server };
}

/**
 * The queried value, and everything that must not be lost: the credentials, the environment, the
 * deployment.
 */
async function expectServes(server: TestServer): Promise<void> {
  expect(await greeting(server)).toBe(GREETED);
  expect((await server.client(EnvironmentService).listEnvironments({})).environments).toHaveLength(1);
  expect((await fetch(`${server.url}/v1/who-am-i`, { headers: { authorization: `Bearer ${await server.token()}` } })).status).toBe(200);
}

describe("of a server that was stopped", () => {
  test.each(CASES)("%s %s: %s", async (file, damage, expected) => {
    const { folder, path, before, files, server } = await startDamaged(template, file, damage);
    using _ = folder;
    if (server instanceof TestServer) {
      await using _server = server;
      expect("serves").toBe(expected as string);
      await expectServes(server);
      const isRenewed = ["online.db", "telemetry.db", "metrics.db", "logs.db"].includes(file);
      const isDamaged = damage === "garbage" || damage === "cut";
      const isSaid = server.log.some(({ message }) => String(message).startsWith(file));
      if ((isRenewed && (isDamaged || file !== "metrics.db")) || file === "server.key") expect([file, isSaid]).toEqual([file, true]);
      expect(existsSync(`${path}.damaged`)).toBe(isRenewed && isDamaged);
      return;
    }
    expect([server.message, server.code]).toEqual([expect.stringContaining(path), expected]);
    expect(files()).toEqual(before);
  });

  test("a directory of a version that noted nothing: the metadata is missed for what is beside it", async () => {
    for (const beside of [
      "server.key",
      "online.db",
      "offline.db",
      "telemetry.db",
      "metrics.db",
      "logs.db",
      "topics.db",
      "objects",
      "deployments/dpl_1",
    ]) {
      using folder = new TempFolder();
      await Bun.write(join(folder.path, "data", beside === "objects" ? "objects/aa/x" : beside), "");
      const error: unknown = await TestServer.start(folder.path).catch((error: unknown) => error);
      expect([beside, error]).toEqual([beside, expect.objectContaining({ code: "data_missing" })]);
    }
    using folder = new TempFolder();
    for (const file of ["server.log", "server.err", "server.lock", "objects/incoming/x"])
      await Bun.write(join(folder.path, "data", file), "");
    await using server = await TestServer.start(folder.path);
    expect(server.credentials.clientId).toStartWith("client_");
  });

  test("damage that only shows while it is used ends no query: the cache is set aside and begun anew", async () => {
    using folder = new TempFolder();
    cpSync(template.path, folder.path, { recursive: true });
    const path = join(folder.path, "data", "online.db");
    const db = new Database(path);
    db.run("drop table online");
    db.run("pragma wal_checkpoint(truncate)");
    db.close();
    await using server = await TestServer.start(folder.path, { credentials });
    await expectServes(server);
    expect(server.log).toContainEqual(
      expect.objectContaining({ message: expect.stringContaining("online.db was damaged"), kept: `${path}.damaged` }),
    );
    expect(await greeting(server)).toBe(GREETED);
  });

  test("metadata that lost everything but their tables are missed too", async () => {
    using folder = new TempFolder();
    cpSync(template.path, folder.path, { recursive: true });
    const db = new Database(join(folder.path, "data", "meta.db"));
    db.run("pragma foreign_keys = off");
    for (const table of ["live", "graph", "deployment_tag", "deployment", "client", "environment", "project", "team"])
      db.run(`delete from ${table}`);
    db.close();
    const error: unknown = await TestServer.start(folder.path, { credentials }).catch((error: unknown) => error);
    expect(error).toMatchObject({ code: "data_missing", message: expect.stringContaining("meta.db is empty") });
  });

  test("metadata that are missing are missed by whatever a note says of other stores", async () => {
    for (const stores of [[], ["offline.db"]]) {
      using folder = new TempFolder();
      cpSync(template.path, folder.path, { recursive: true });
      rmSync(join(folder.path, "data", "meta.db"));
      writeFileSync(join(folder.path, "data", "stores.json"), JSON.stringify({ stores }));
      const error: unknown = await TestServer.start(folder.path, { credentials }).catch((error: unknown) => error);
      expect(error).toMatchObject({ code: "data_missing", message: expect.stringContaining("meta.db is missing") });
      expect(existsSync(join(folder.path, "data", "meta.db"))).toBe(false);
    }
  });

  test("topics that were there at a start are missed at a later one", async () => {
    using folder = new TempFolder();
    const [data, { environmentId }] = [join(folder.path, "data"), credentials];
    cpSync(template.path, folder.path, { recursive: true });
    const pusher = new Pusher(data, environmentId);
    await pusher.push("clicks", [{ id: 1 }]);
    await pusher[Symbol.asyncDispose]();
    await (await TestServer.start(folder.path, { credentials })).server.stop();
    for (const file of ["topics.db", "topics.db-wal", "topics.db-shm"]) rmSync(join(data, file), { force: true });
    const error: unknown = await TestServer.start(folder.path, { credentials }).catch((error: unknown) => error);
    expect(error).toMatchObject({ code: "data_missing", message: expect.stringContaining("it held the messages of the server's topics") });
  });

  test("begun anew on demand: everything is set aside, and nothing of it is gone", async () => {
    const { folder, path, server } = await startDamaged(template, "meta.db", "missing");
    using _ = folder;
    expect(server).toMatchObject({ code: "data_missing", hint: expect.stringContaining("svc server start --new") });
    const before = readFileSync(join(folder.path, "data", "offline.db"));
    writeFileSync(join(folder.path, "data", "meta.outbox.db"), "");
    await using anew = await TestServer.start(folder.path, { anew: true });
    expect(anew.credentials.clientId).not.toBe(credentials.clientId);
    expect(existsSync(path)).toBe(true);
    const [aside = ""] = readdirSync(join(folder.path, "data")).filter((name) => name.startsWith("set-aside-"));
    expect(readdirSync(join(folder.path, "data", aside)).sort()).toEqual(
      expect.arrayContaining([
        "logs.db",
        "meta.outbox.db",
        "objects",
        "offline.db",
        "online.db",
        "server.key",
        "stores.json",
        "telemetry.db",
      ]),
    );
    expect(readFileSync(join(folder.path, "data", aside, "offline.db"))).toEqual(before);
  });
});

/**
 * Write-ahead logs, as a kill leaves them: content that is only in them is lost with them, but
 * never silently, and never replaced by another value.
 */
const LOGS = [
  "meta.db-wal",
  "offline.db-wal",
  "online.db-wal",
  "telemetry.db-wal",
  "metrics.db-wal",
  "logs.db-wal",
  "topics.db-wal",
  "meta.db-shm",
];
const LOG_CASES = LOGS.flatMap((file) => Object.keys(DAMAGES).map((damage) => [file, damage] as const));

describe("of a server that was killed", () => {
  test("with all of its files it serves as before", async () => {
    using folder = new TempFolder();
    cpSync(running.path, folder.path, { recursive: true });
    await using server = await TestServer.start(folder.path, { credentials });
    await expectServes(server);
  });

  test.each(LOG_CASES)("%s %s", async (file, damage) => {
    const { folder, path, server } = await startDamaged(running, file, damage);
    using _ = folder;
    if (server instanceof TestServer) {
      await using _server = server;
      if (file.startsWith("meta.db-wal")) expect(server.credentials.clientId).toBe(credentials.clientId);
      else await expectServes(server);
    } else
      expect([server.code, server.message]).toEqual([
        expect.stringMatching(/^data_(missing|damaged)$/),
        expect.stringContaining(path.replace(/-(wal|shm)$/, "")),
      ]);
    if (file === "meta.db-wal" && (damage === "missing" || damage === "empty")) expect(server).toMatchObject({ code: "data_missing" });
  });
});
