/**
 * Relations to the nearest rows as a project writes them: real analyzer, worker, store and thread.
 * A plain loop over the rows says which are nearest.
 */

import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import type { FeatureValue } from "../../../../src/domain/value.ts";
import { EVICTED, storeKey } from "../../../../src/server/stores/online/store.ts";
import { PythonWorld } from "../python-world.ts";
import { randomOf } from "../random-values.ts";
import { valuesOf } from "../worlds.ts";

setDefaultTimeout(300_000);

const PROJECT: Record<string, string> = {
  "features.py": `
from svc import online
from svc.features import DataFrame, Vector, _, feature, features, has_many


@features(max_staleness="1d")
class Doc:
    id: int
    lang: str
    body: str | None
    size: int
    emb: Vector[6]
    exact: Vector["f64", 3]
    distance: float | None
    title: str


@features
class Search:
    id: int
    lang: str
    word: str
    emb: Vector[6]
    exact: Vector["f64", 3]
    near: DataFrame[Doc] = has_many(lambda: Search.emb.is_near(Doc.emb, distance=Doc.distance))
    far: DataFrame[Doc] = has_many(lambda: Search.emb.is_near(Doc.emb, k=1000, metric="l2", distance=Doc.distance))
    most: DataFrame[Doc] = has_many(lambda: Search.exact.is_near(Doc.exact, k=3, metric="dot", distance=Doc.distance))
    own: DataFrame[Doc] = has_many(
        lambda: Search.emb.is_near(Doc.emb, k=5, distance=Doc.distance)
        & (Doc.lang == Search.lang) & Doc.body.contains(Search.word) & (Doc.size >= 50) & ~Doc.body.contains("never")
    )
    close: int = _.near[_.distance < 0.5].count()
    nearest: float | None = _.near[_.distance].min()
    told: str


@online
def title(id: Doc.id, size: Doc.size) -> Doc.title:
    return f"{id} of {size}"


@online
def told(rows: Search.near[Doc.distance < 0.8, Doc.id, Doc.title]) -> Search.told:
    return "; ".join(f"{row.id}: {row.title}" for row in rows)
`,
};

interface Doc {
  readonly id: number;
  readonly lang: string;
  readonly body: string | null;
  readonly size: number;
  readonly emb: readonly number[];
  readonly exact: readonly number[];
}

const now = Date.parse("2024-05-01T12:00:00Z");
const random = randomOf(7);
const vector = (size: number, round: (value: number) => number) => Array.from({ length: size }, () => round(random() * 2 - 1));
const docs: readonly Doc[] = Array.from({ length: 700 }, (_, id) => ({
  id,
  lang: id % 7 === 0 ? "en" : "de",
  body: id % 11 === 0 ? null : `word${id % 5} and ${id % 13 === 0 ? "never" : "more"}`,
  size: id % 100,
  emb: id === 13 ? [0, 0, 0, 0, 0, 0] : vector(6, Math.fround),
  exact: vector(3, Number),
}));

const dot = (a: readonly number[], b: readonly number[]) => a.reduce((sum, one, at) => sum + one * (b[at] as number), 0);
const cosine = (a: readonly number[], b: readonly number[]) => 1 - dot(a, b) / Math.sqrt(dot(a, a)) / Math.sqrt(dot(b, b));
const euclidean = (a: readonly number[], b: readonly number[]) => Math.hypot(...a.map((one, at) => one - (b[at] as number)));

/** Ids of the nearest of some docs, with their distances. */
function nearestOf(of: readonly Doc[], distance: (doc: Doc) => number, limit: number): (readonly [number, number])[] {
  const known = of.map((doc) => [doc.id, distance(doc)] as const).filter(([, far]) => !Number.isNaN(far));
  return known.toSorted((a, b) => a[1] - b[1] || (storeKey(a[0]) < storeKey(b[0]) ? -1 : 1)).slice(0, limit);
}

let world: PythonWorld;

function put(of: readonly Doc[], observedAt = now - 1_000, only?: readonly string[]): void {
  const values = of.flatMap((doc) =>
    Object.entries(doc).flatMap(([name, value]) => {
      const featureId = world.deployment.featureIds.get(`doc.${name}`);
      if (name === "id" || featureId === undefined || (only && !only.includes(name))) return [];
      const write = { namespace: "doc", key: storeKey(doc.id), featureId, observedAt, resolver: "upload" };
      return [{ ...write, value: value as FeatureValue }];
    }),
  );
  world.deployment.online.put("main", { values, rows: [] });
}

/** The ids and distances of the rows of a relation. */
async function rowsOf(relation: string, inputs: Record<string, unknown>, at?: number): Promise<(readonly [number, number])[]> {
  const more = at === undefined ? {} : { now: BigInt(at) * 1000n };
  const answer = await world.ask({ "search.id": 1, ...inputs }, [`search.${relation}.id`, `search.${relation}.distance`], more);
  const values = valuesOf(answer);
  const distances = values[`search.${relation}.distance`] as number[];
  return (values[`search.${relation}.id`] as number[]).map((id, place) => [id, distances[place] as number] as const);
}

function expectNear(found: (readonly [number, number])[], expected: (readonly [number, number])[]): void {
  expect(found.map(([id]) => id)).toEqual(expected.map(([id]) => id));
  for (const [place, [, distance]] of expected.entries()) expect(found[place]?.[1]).toBeCloseTo(distance, 9);
}

beforeAll(async () => {
  world = await PythonWorld.start(PROJECT);
  put(docs);
}, 300_000);
afterAll(() => world?.close());

const emb = [0.3, -0.2, 0.9, 0.1, 0.4, -0.7].map(Math.fround);
const exact = [0.1, 0.2, -0.3];

describe("the nearest rows", () => {
  test("are those of a plain loop, by each metric, with their distances", async () => {
    expectNear(
      await rowsOf("near", { "search.emb": emb }),
      nearestOf(docs, (doc) => cosine(emb, doc.emb), 10),
    );
    expectNear(
      await rowsOf("far", { "search.emb": emb }),
      nearestOf(docs, (doc) => euclidean(emb, doc.emb), 1_000),
    );
    expectNear(
      await rowsOf("most", { "search.exact": exact }),
      nearestOf(docs, (doc) => -dot(exact, doc.exact), 3),
    );
    expect(await rowsOf("near", { "search.emb": [0, 0, 0, 0, 0, 0] })).toEqual([]);
  });

  test("are chosen of those that keep to the conditions, and brackets take rows away from them", async () => {
    const own = docs.filter(({ body, lang, size }) => lang === "en" && size >= 50 && body?.includes("word3") && !body.includes("never"));
    expect(own.length).toBeGreaterThan(5);
    const given = { "search.emb": emb, "search.lang": "en", "search.word": "word3" };
    expectNear(
      await rowsOf("own", given),
      nearestOf(own, (doc) => cosine(emb, doc.emb), 5),
    );
    expect(await rowsOf("own", { ...given, "search.lang": "fr" })).toEqual([]);
    const near = nearestOf(docs, (doc) => cosine(emb, doc.emb), 10);
    const values = valuesOf(await world.ask({ "search.id": 1, "search.emb": emb }, ["search.close", "search.nearest", "search.told"]));
    expect(values["search.close"]).toBe(near.filter(([, distance]) => distance < 0.5).length);
    expect(values["search.nearest"]).toBeCloseTo(near[0]?.[1] as number, 9);
    const told = near.filter(([, distance]) => distance < 0.8).map(([id]) => `${id}: ${id} of ${docs[id]?.size}`);
    expect(values["search.told"]).toBe(told.join("; "));
  });

  test("of many rows of a query are found for each", async () => {
    const vectors = Array.from({ length: 9 }, () => vector(6, Math.fround));
    const answer = await world.askBulk({ "search.id": vectors.map((_, at) => at), "search.emb": vectors }, ["search.near.id"]);
    const found = answer.columns.find(({ path }) => path === "search.near.id")?.values;
    expect(found).toEqual(vectors.map((one) => nearestOf(docs, (doc) => cosine(one, doc.emb), 10).map(([id]) => id)));
  });

  test("follow what is written, evicted and deleted after the first search", async () => {
    const [first] = await rowsOf("near", { "search.emb": emb });
    const moved = { ...(docs[first?.[0] as number] as Doc), emb: emb.map((one) => -one) };
    const added = { ...(docs[0] as Doc), id: 5_000, emb };
    put([moved, added], now - 500);
    put([{ ...added, emb: emb.map((one) => -one) }], now - 900);
    const after = [...docs.filter(({ id }) => id !== moved.id), moved, added];
    expectNear(
      await rowsOf("near", { "search.emb": emb }),
      nearestOf(after, (doc) => cosine(emb, doc.emb), 10),
    );
    const featureId = world.deployment.featureIds.get("doc.emb") as number;
    const evicted = { namespace: "doc", key: storeKey(5_000), featureId, value: null, observedAt: now - 400, resolver: EVICTED };
    world.deployment.online.put("main", { values: [evicted], rows: [] });
    const left = nearestOf(
      after.filter(({ id }) => id !== 5_000),
      (doc) => cosine(emb, doc.emb),
      10,
    );
    expectNear(await rowsOf("near", { "search.emb": emb }), left);
    const [gone] = left;
    const keys = [storeKey(gone?.[0] as number)];
    await world.vectors.online.deleteKeys("main", { namespace: "doc", keys, featureIds: [featureId], until: now });
    expect((await rowsOf("near", { "search.emb": emb }))[0]).toEqual(left[1] && [left[1][0], expect.any(Number)]);
    put(docs, now - 300);
    await world.vectors.online.deleteKeys("main", { namespace: "doc", keys: [storeKey(5_000)], featureIds: [featureId], until: now });
  });

  test("are those that are not too old, and not newer than the query's time", async () => {
    const old = { ...(docs[0] as Doc), id: 6_000, emb };
    put([old], now - 86_400_000 - 1);
    expect((await rowsOf("near", { "search.emb": emb })).some(([id]) => id === 6_000)).toBe(false);
    put([{ ...old, id: 6_001 }], now - 86_400_000);
    expect((await rowsOf("near", { "search.emb": emb }))[0]?.[0]).toBe(6_001);
    const before = await rowsOf("near", { "search.emb": emb }, now - 10_000);
    expect(before.map(([id]) => id)).toEqual([6_000, 6_001]);
  });

  test("are refused by name where nothing stored is read", async () => {
    const refused = async (more: Parameters<PythonWorld["ask"]>[2]) =>
      world.ask({ "search.id": 1, "search.emb": emb }, ["search.near.id"], more).then(
        () => "answered",
        (error: Error) => error.message,
      );
    expect(await refused({ staleness: { "doc.emb": 0 } })).toContain("this query takes no stored value of doc.emb");
  });

  test("without memory for them fail, and say so", async () => {
    const { createVectors } = await import("../../../../src/server/vectors/create-vectors.ts");
    const tight = createVectors(world.vectors.online, { mostBytes: 500 * 224 });
    const featureId = world.deployment.featureIds.get("doc.emb") as number;
    const feature = { scope: "main", namespace: "doc", featureId, fqn: "doc.emb", form: { size: 6, isDouble: false } };
    const search = { wanted: Float64Array.from(emb), metric: "l2" as const, limit: 1, from: 0, until: now };
    expect(tight.nearest(feature, search)).rejects.toThrow("the vectors of doc.emb take more than the 0 MiB");
    await tight.close();
  });
});
