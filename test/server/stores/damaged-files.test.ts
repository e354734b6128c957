import { Database } from "bun:sqlite";
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { start } from "../../../src/server/boot/start.ts";
import { createSqliteLogStore } from "../../../src/server/stores/logs/sqlite.ts";
import { createSqliteMetadataStore } from "../../../src/server/stores/metadata/sqlite.ts";
import { createSqliteMetricStore } from "../../../src/server/stores/metrics/sqlite.ts";
import { createSqliteOfflineStore } from "../../../src/server/stores/offline/sqlite.ts";
import { openSqliteOnlineStore } from "../../../src/server/stores/online/sqlite.ts";
import { createSqliteTelemetryStore } from "../../../src/server/stores/telemetry/sqlite.ts";
import { createSqliteTopicStore } from "../../../src/server/stores/topics/sqlite.ts";
import { TempFolder, TestClock } from "../../harness/running-server.ts";
import { runs, seed } from "../../harness/seed.ts";
import { filter, line } from "./logs/records.ts";
import { dtypeOf, featureVersion } from "./offline/versions.ts";
import { query } from "./telemetry/records.ts";

/** Damaged files of each database. */
const CASES_PER_FILE = runs(20, 100_000);
/** A store that has not answered by then, hangs. */
const HANG_MS = 30_000;

const clock = new TestClock();
const TEXTS = featureVersion(1, { dtype: dtypeOf("STRING") });
const NUMBERS = featureVersion(2);
const KEYS = Array.from({ length: 40 }, (_, key) => `i:${key}`);

/** A database: how it is filled, and everything that is asked of it. */
interface Subject {
  fill(path: string): Promise<void>;
  read(path: string): Promise<unknown>;
  /** Whether a damaged file is set aside and begun anew: nothing that it kept is missed. */
  readonly renewed?: boolean;
  /**
   * Whether what it keeps has checksums, so that no flipped bit is served as a value. SQLite itself
   * has none.
   */
  readonly checksums?: boolean;
}

const SUBJECTS: Readonly<Record<string, Subject>> = {
  "meta.db": {
    async fill(path) {
      const store = createSqliteMetadataStore({ path, programVersion: "1" });
      await store.bootstrap({
        team: { id: "team_1", name: "team" },
        project: { id: "prj_1", name: "project" },
        environment: { id: "env_1", name: "default" },
        client: { id: "client_1", name: "first", secretHash: new Uint8Array(32), permissions: ["read"] },
        now: 1,
      });
      for (const id of KEYS) await store.createUpload({ id, sha256: "a".repeat(64), sizeBytes: 1, createdAt: 0, expiresAt: 1e15 });
      await store.close();
    },
    async read(path) {
      const options = { port: 0, dataDir: dirname(path), clock, env: {}, log: () => undefined, version: "1" };
      if (basename(dirname(path)).startsWith("case-")) await (await start(options)).stop();
      const store = createSqliteMetadataStore({ path, programVersion: "1" });
      try {
        return [await store.environments(), await store.client("client_1"), await Promise.all(KEYS.map((id) => store.upload(id)))];
      } finally {
        await store.close();
      }
    },
  },
  "online.db": {
    async fill(path) {
      const store = openSqliteOnlineStore(path, { now: () => 5 });
      const write = (key: string, index: number) => ({
        namespace: "user",
        key,
        featureId: 1,
        value: `v${index}`,
        observedAt: index,
        resolver: "m.f",
      });
      store.put("main", { values: KEYS.map(write), rows: [] });
      await store.close();
    },
    async read(path) {
      const store = openSqliteOnlineStore(path);
      try {
        return await store.read("main", { values: [{ namespace: "user", keys: KEYS, featureIds: [1] }], rows: [] });
      } finally {
        await store.close();
      }
    },
  },
  "offline.db": {
    checksums: true,
    async fill(path) {
      const store = createSqliteOfflineStore({ path, programVersion: "1", now: () => 5 });
      for (const round of [1, 2, 3])
        await store.append(
          [TEXTS, NUMBERS].map((version) => ({
            version,
            deploymentId: "dpl_1",
            resolver: "m.f",
            op: "query",
            keys: KEYS,
            observedAt: KEYS.map((_, index) => index * round),
            values: KEYS.map((key, index) => (version === TEXTS ? `${key} in round ${round}` : index * round)),
          })),
        );
      await store.close();
    },
    async read(path) {
      const store = createSqliteOfflineStore({ path, programVersion: "1", now: () => 6 });
      try {
        const spine = { keys: KEYS, times: KEYS.map(() => 70) };
        const columns = await store.sample(spine, [{ featureId: 1 }, { featureId: 2 }]);
        return [
          columns.map(({ values, observedAt }) => [values, [...observedAt]]),
          await store.scanKeys("env_1", "user"),
          await store.scan(1, { limit: 1_000 }),
          await store.latest([1, 2], { limit: 1_000 }),
        ];
      } finally {
        await store.close();
      }
    },
  },
  "metrics.db": {
    renewed: true,
    async fill(path) {
      const store = createSqliteMetricStore({ path, programVersion: "1", clock });
      const bucket = { at: 0, count: 1, sum: 1, min: 1, max: 1 };
      await store.append(KEYS.map((endpoint) => ({ environmentId: "", metric: "http.count", labels: { endpoint }, bucket })));
      await store.close();
    },
    async read(path) {
      const store = createSqliteMetricStore({ path, programVersion: "1", clock });
      try {
        const selection = { environmentId: "", metric: "http.count", filters: [], by: ["endpoint"], maxGroups: 99 };
        return await store.read({ ...selection, from: 0, before: 60_000, stepMs: 60_000 });
      } finally {
        await store.close();
      }
    },
  },
  "telemetry.db": {
    renewed: true,
    async fill(path) {
      const store = await createSqliteTelemetryStore({ path, programVersion: "1", clock });
      for (const id of KEYS) store.recordQuery(query(id, clock.now()));
      await store.flush();
      await store.close();
    },
    async read(path) {
      const store = await createSqliteTelemetryStore({ path, programVersion: "1", clock });
      try {
        return [await store.queries({ environmentId: "env_1", limit: 99 }), await store.query(KEYS[0] ?? "")];
      } finally {
        await store.close();
      }
    },
  },
  "logs.db": {
    renewed: true,
    async fill(path) {
      const store = createSqliteLogStore({ path, programVersion: "1", clock });
      for (const text of KEYS) store.record(line(text, clock.now()));
      await store.close();
    },
    async read(path) {
      const store = createSqliteLogStore({ path, programVersion: "1", clock });
      try {
        return [await store.search(filter(), 99), await store.search(filter("i"), 99)];
      } finally {
        await store.close();
      }
    },
  },
  "topics.db": {
    async fill(path) {
      const store = createSqliteTopicStore({ path, programVersion: "1", clock });
      for (const topic of KEYS.slice(0, 20)) {
        await store.ensure({ environmentId: "env_1", topic }, 2);
        await store.append({ environmentId: "env_1", topic }, [
          { partition: 1, count: 2, messages: new TextEncoder().encode(topic.repeat(20)) },
        ]);
      }
      await store.close();
    },
    async read(path) {
      const store = createSqliteTopicStore({ path, programVersion: "1", clock });
      const bounds = { maxMessages: 99, maxBytes: 1_000_000 };
      try {
        return await Promise.all(
          KEYS.slice(0, 20).map((topic) => store.read({ environmentId: "env_1", topic }, [{ partition: 1, offset: 0 }], bounds)),
        );
      } finally {
        await store.close();
      }
    },
  },
};

let folder: TempFolder;
const filled = new Map<string, Promise<string>>();
beforeAll(() => {
  folder = new TempFolder();
});
afterAll(() => folder[Symbol.dispose]());

/** Path of a whole database, made when it is first wanted. */
function wholeFile(name: string): Promise<string> {
  const path = join(folder.path, name);
  const made = filled.get(name) ?? (SUBJECTS[name] as Subject).fill(path).then(() => path);
  filled.set(name, made);
  return made;
}

const failureOf = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => undefined,
    (error: unknown) => error,
  );

/** The answer of a store; it is a fault, which `IN_WORDS` does not match, when none comes. */
async function answered<T>(reading: Promise<T>, label: string): Promise<T> {
  const { promise: hangs, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error(`${label}: no answer`)), HANG_MS);
  return Promise.race([reading, hangs]).finally(() => clearTimeout(timer));
}

/** What a damaged file is refused with, or what a value in it that cannot be read any more is. */
const IN_WORDS =
  /cannot be read|is damaged|malformed|not a database|not an? SQLite|JSON Parse error|newer version|not a database of this program|schema \d+|no such (table|column)|has no column named/;

describe("flipped bits and cut files", () => {
  test.each(Object.keys(SUBJECTS))(
    "%s: refused in words, or answered; never a crash or a hang",
    async (name) => {
      let state = seed | 0;
      const random = (limit: number): number => {
        state = (Math.imul(state, 1_664_525) + 1_013_904_223) | 0;
        return Math.floor(((state >>> 0) / 2 ** 32) * limit);
      };
      const subject = SUBJECTS[name] as Subject;
      const path = await wholeFile(name);
      const whole = readFileSync(path);
      const right = await subject.read(path);
      const counts = { right: 0, refused: 0, unseen: 0 };
      for (let n = 0; n < CASES_PER_FILE; n++) {
        const place = join(folder.path, `case-${n}-${name}`);
        mkdirSync(place);
        const cut = random(4) === 0;
        const at = random(whole.length);
        const bytes = Buffer.from(cut ? whole.subarray(0, Math.max(at, 1)) : whole);
        if (!cut) bytes[at] = (bytes[at] as number) ^ (1 << random(8));
        writeFileSync(join(place, name), bytes, { mode: 0o600 });
        const label = `SVC_TEST_SEED=${seed}, case ${n}: ${cut ? "cut" : "flipped"} at ${at} of ${whole.length}`;
        try {
          const answer = await answered(subject.read(join(place, name)), label);
          if (Bun.deepEquals(answer, right)) counts.right++;
          else {
            const isAnew = subject.renewed && existsSync(join(place, `${name}.damaged`));
            counts[isAnew ? "refused" : "unseen"]++;
            if ((cut && !isAnew) || subject.checksums) throw new Error(`${label}: other than what was stored: ${Bun.inspect(answer)}`);
          }
        } catch (error) {
          counts.refused++;
          expect(`${label}: ${error}`).toMatch(IN_WORDS);
        }
        rmSync(place, { recursive: true });
      }
      console.log(
        `damage of ${name}: SVC_TEST_SEED=${seed}, ${counts.right} answered right, ${counts.refused} refused, ${counts.unseen} not seen`,
      );
      expect(counts.refused).toBeGreaterThan(0);
    },
    300_000 + CASES_PER_FILE * 1_000,
  );
});

describe("a newer schema", () => {
  test.each(Object.keys(SUBJECTS))("%s is refused by its store and by the server, and no file is touched", async (name) => {
    using data = new TempFolder();
    for (const file of new Set(["meta.db", "online.db", name])) copyFileSync(await wholeFile(file), join(data.path, file));
    const path = join(data.path, name);
    const db = new Database(path);
    db.run("pragma user_version = 99");
    db.run("pragma wal_checkpoint(truncate)");
    db.close();
    const files = () =>
      readdirSync(data.path)
        .filter((file) => /\.db/.test(file))
        .sort()
        .map((file) => [file, Bun.hash(readFileSync(join(data.path, file)))]);
    const before = files();
    expect(await failureOf((SUBJECTS[name] as Subject).read(path))).toMatchObject({ message: expect.stringContaining("schema 99") });
    expect(files()).toEqual(before);
    const options = { port: 0, dataDir: data.path, clock, env: {}, log: () => undefined, version: "1" };
    expect(await failureOf(start(options))).toMatchObject({ code: "newer_schema", message: expect.stringContaining(name) });
    expect(files()).toEqual(before);
  });
});
