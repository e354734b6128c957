/**
 * An upload that is cut off at every point, by a process that dies there: the next one goes on, one
 * revision comes of it, the older one stays whole, and nothing is left.
 */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { createDatasetCapabilities, type DatasetCapabilities } from "../../../src/server/datasets/create-datasets.ts";
import { ARCHIVED_KEPT_MS } from "../../../src/server/datasets/datasets.ts";
import { ABANDONED_AFTER_MS } from "../../../src/server/datasets/upkeep.ts";
import { createSqliteMetadataStore } from "../../../src/server/stores/metadata/sqlite.ts";
import type { MetadataStore } from "../../../src/server/stores/metadata/store.ts";
import { createDirectoryObjectStore } from "../../../src/server/stores/objects/directory.ts";
import type { ObjectStore } from "../../../src/server/stores/objects/store.ts";
import { TempFolder, TestClock } from "../../harness/running-server.ts";

const PART = 64 * 1024;
const ENVIRONMENT = "env_1";
const log = { debug() {}, info() {}, warning() {}, error() {}, enabled: () => false };
const digest = (bytes: Uint8Array): string => new Bun.CryptoHasher("sha256").update(bytes).digest("hex");
const random = (length: number): Uint8Array<ArrayBuffer> => crypto.getRandomValues(new Uint8Array(length));
const never = new AbortController().signal;

/** The end of a process, as far as what it keeps is concerned: nothing of it runs any more. */
class Killed extends Error {}

describe("an upload that is cut off", () => {
  let folder: TempFolder;
  let metadata: MetadataStore;
  let objects: ObjectStore;
  const clock = new TestClock();

  beforeAll(() => {
    folder = new TempFolder();
    const addresses = { sign: (_: string, key: string) => ({ url: key, expiresAt: 0 }), check: () => ({ refused: "never" }) };
    objects = createDirectoryObjectStore(join(folder.path, "objects"), addresses);
    metadata = createSqliteMetadataStore({ path: ":memory:", programVersion: "1.0.0" });
  });
  afterAll(async () => {
    await metadata.close();
    folder[Symbol.dispose]();
  });

  /** A process, which dies before its n-th change of what is stored. */
  const start = (dies = Number.POSITIVE_INFINITY): DatasetCapabilities => {
    let changes = 0;
    const dying = <T extends object>(store: T, names: readonly string[]): T => {
      const guarded = names.map((name) => {
        const call = (store as Record<string, unknown>)[name] as (...given: unknown[]) => Promise<unknown>;
        return [
          name,
          async (...given: unknown[]) => {
            if (++changes >= dies) throw new Killed();
            return call.apply(store, given);
          },
        ];
      });
      return { ...store, ...Object.fromEntries(guarded) };
    };
    const changing = ["beginUpload", "putFile", "touch", "complete", "fail", "swept"];
    return createDatasetCapabilities({
      metadata: { datasets: dying(metadata.datasets, changing) },
      objects: dying(objects, ["put", "delete"]),
      tables: () => Promise.reject(new Error("no table is read here")),
      personal: async () => new Set(),
      folder: join(folder.path, "tmp"),
      ...{ clock, log },
    });
  };

  const files = [
    { name: "one.bin", content: random(2 * PART + 5) },
    { name: "two.bin", content: random(10) },
  ];
  /** What the command does; returns the revision's id and how many bytes it sent. */
  const upload = async ({ uploads }: DatasetCapabilities, put: ObjectStore["put"], dataset: string) => {
    const announced = files.map(({ name, content }) => ({ name, bytes: content.length, sha256: digest(content) }));
    const wish = { environmentId: ENVIRONMENT, dataset, files: announced, partBytes: PART, clientId: "cli" };
    const { upload: begun } = await uploads.announce(wish);
    let sent = 0;
    for (const [file, { content }] of files.entries())
      for (let part = 0; part * begun.partBytes < content.length; part++) {
        const bytes = content.slice(part * begun.partBytes, (part + 1) * begun.partBytes);
        const [key] = await uploads.addresses(ENVIRONMENT, begun.id, [{ file, part, sha256: digest(bytes) }]);
        if (key === undefined) continue;
        await put(key, new Blob([bytes]).stream(), { size: bytes.length });
        sent += bytes.length;
      }
    return { id: (await uploads.finalize(ENVIRONMENT, begun.id)).id, sent };
  };
  const contents = async (id: string): Promise<string[]> => {
    const all = await metadata.datasets.files(id);
    return Promise.all(all.map(async ({ key }) => digest(new Uint8Array(await new Response(await objects.get(key)).arrayBuffer()))));
  };
  const keys = async () => (await objects.list({ limit: 1_000 })).map(({ key }) => key).sort();

  test("goes on, at whatever change the process died", async () => {
    const old = await upload(start(), objects.put, "d");
    const wanted = files.map(({ content }) => digest(content));
    let points = 0;
    for (let dies = 1; ; dies++) {
      const dataset = `d${dies}`;
      const dead = start(dies);
      let puts = 0;
      const put: ObjectStore["put"] = (...given) => {
        puts++;
        return objects.put(...given);
      };
      const died = await upload(dead, put, dataset).then(
        () => false,
        (error: unknown) => error instanceof Killed || Promise.reject(error),
      );
      const before = await metadata.datasets.dataset(ENVIRONMENT, dataset);
      expect((before?.revisions ?? 0) <= 1).toBe(true);
      if (!died) {
        expect(puts).toBe(4);
        break;
      }
      points++;
      const isComplete = before?.revisions === 1;
      const again = isComplete ? undefined : await upload(start(), put, dataset);
      expect(puts).toBe(4);
      const revision = await metadata.datasets.latest((await metadata.datasets.dataset(ENVIRONMENT, dataset))?.id ?? "");
      expect([dies, await contents(revision?.id ?? "")]).toEqual([dies, wanted]);
      expect(revision?.number).toBe(1);
      if (again) expect(revision?.id).toBe(again.id);
    }
    expect(points).toBeGreaterThan(5);
    expect(await contents(old.id)).toEqual(wanted);
    await start().upkeep.run(never);
    expect((await keys()).filter((key) => key.includes("/parts/"))).toEqual([]);
  });

  test("and is never finished leaves nothing when it was untouched for some days; the older revision stays", async () => {
    const kept = await upload(start(), objects.put, "left");
    const before = await keys();
    files.reverse();
    const dead = upload(start(), async () => Promise.reject(new Killed()), "left");
    await expect(dead).rejects.toThrow(Killed);
    await objects.put(`datasets/${ENVIRONMENT}/${await openRevision()}/parts/0-0.${"0".repeat(64)}`, new Blob(["x"]).stream());
    const { upkeep } = start();
    clock.advance(ABANDONED_AFTER_MS - 60_000);
    await upkeep.run(never);
    expect(await keys()).not.toEqual(before);
    clock.advance(120_000);
    await upkeep.run(never);
    expect(await keys()).toEqual(before);
    clock.advance(ARCHIVED_KEPT_MS + 60_000);
    await upkeep.run(never);
    expect(await metadata.datasets.revision(kept.id)).toMatchObject({ state: "complete", number: 1 });
  });

  test("an archived revision is kept for some days, and then gone with its dataset", async () => {
    const { datasets, upkeep } = start();
    const { id } = await upload(start(), objects.put, "archived");
    const own = async () => (await keys()).filter((key) => key.includes(id)).length;
    await datasets.archive(ENVIRONMENT, id);
    clock.advance(ARCHIVED_KEPT_MS - 60_000);
    await upkeep.run(never);
    expect(await own()).toBe(2);
    clock.advance(120_000);
    await upkeep.run(never);
    expect([await own(), await metadata.datasets.dataset(ENVIRONMENT, "archived")]).toEqual([0, undefined]);
  });

  const openRevision = async (): Promise<string> =>
    (await metadata.datasets.overdue({ endedBefore: 0, untouchedSince: Number.MAX_SAFE_INTEGER, limit: 9 }))[0]?.id ?? "";
});
