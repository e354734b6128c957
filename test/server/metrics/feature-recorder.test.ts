/** Statistics of features: of answers of a real server, and their drift. */

import { afterEach, beforeEach, expect, test } from "bun:test";
import { join } from "node:path";
import { QueryService } from "../../../gen/svc/v1/query_pb.ts";
import { ExponentialHistogram } from "../../../src/domain/metrics/exponential-histogram.ts";
import { NumberSketch } from "../../../src/domain/metrics/value-sketch.ts";
import { recordDrift } from "../../../src/server/metrics/feature-drift.ts";
import { createMetricRecorder } from "../../../src/server/metrics/recorder.ts";
import { createSqliteMetricStore } from "../../../src/server/stores/metrics/sqlite.ts";
import type { MetricStore } from "../../../src/server/stores/metrics/store.ts";
import { TempFolder, TestServer } from "../../harness/running-server.ts";
import { deploy, expectLive } from "../deployments/deploying.ts";

const HOUR = 3_600_000;
const T0 = Date.UTC(2026, 0, 5, 12);
const clock = { now: () => T0, sleep: (ms: number) => Bun.sleep(ms) };
let folder: TempFolder;
beforeEach(() => {
  folder = new TempFolder();
});
afterEach(() => folder[Symbol.dispose]());

const PROJECT = {
  "features.py": `from svc.features import feature, features

@features(max_staleness="1h")
class User:
    id: int
    score: float
    color: str | None
    email: str = feature(tags=["pii"])
`,
  "resolvers.py": `from svc import online
from svc.features import Features
from features import User

@online
def get(id: User.id) -> Features[User.score, User.color, User.email]:
    return User(score=id * 1.5, color=None if id == 3 else "red", email=f"{id}@example.com")
`,
};

test("answers are counted, values sampled, and those of keys and of personal features are not", async () => {
  {
    await using server = await TestServer.start(folder.path);
    expectLive(await deploy(server, PROJECT));
    for (const value of ["1", "2", "3", "2"])
      await server.client(QueryService).query({
        inputs: [{ feature: "user.id", value: { case: "text", value } }],
        outputs: ["user.id", "user.score", "user.color", "user.email"],
      });
  }
  const store = createSqliteMetricStore({ path: join(folder.path, "data", "metrics.db"), programVersion: "1", clock });
  try {
    const all = { from: 0, before: Number.MAX_SAFE_INTEGER };
    const features = await store.featuresWithStats({ ...all, limit: 10 });
    expect(features.map(({ feature }) => feature)).toEqual(["user.color", "user.email", "user.id", "user.score"]);
    const of = async (feature: string) =>
      (await store.featureStats({ ...all, feature, environmentId: features[0]?.environmentId ?? "" }))[0];
    expect(await of("user.color")).toMatchObject({
      count: 4,
      nulls: 1,
      errors: 0,
      sketch: { kind: "values", total: 3, values: [["red", 3]] },
    });
    expect(await of("user.email")).toMatchObject({ count: 4, nulls: 0 });
    expect([(await of("user.email"))?.sketch, (await of("user.id"))?.sketch]).toEqual([undefined, undefined]);
    const score = await of("user.score");
    expect(score?.sketch?.kind).toBe("number");
    expect(ExponentialHistogram.decode(score?.ages as Uint8Array).count).toBe(1);
    expect(JSON.stringify(await Promise.all(features.map(({ feature }) => of(feature))))).not.toContain("example.com");
  } finally {
    await store.close();
  }
});

test("drift is recorded for what changed and for what did not, and not of a few values", async () => {
  const store: MetricStore = createSqliteMetricStore({ path: ":memory:", programVersion: "1", clock });
  const log = { debug() {}, info() {}, warning() {}, error() {}, enabled: () => true };
  const recording = createMetricRecorder({ store: async () => store, clock, log });
  const hour = (feature: string, at: number, shift: number, values: number) => {
    const sketch = new NumberSketch();
    for (let n = 0; n < values; n++) sketch.record((n % 100) + 1 + shift);
    return {
      environmentId: "env_1",
      feature,
      at,
      count: values,
      nulls: 0,
      errors: 0,
      ages: new ExponentialHistogram().encode(),
      sketch: sketch.toJSON(),
    };
  };
  const ago = (hours: number): number => T0 - hours * HOUR;
  await store.addFeatureStats(
    [2, 30, 100].flatMap((hours) => ["user.same", "user.other", "user.rare"].map((one) => hour(one, ago(hours), 0, 300))),
  );
  await store.addFeatureStats([hour("user.same", ago(1), 0, 300), hour("user.other", ago(1), 50, 300), hour("user.rare", ago(1), 50, 20)]);
  await recordDrift(store, recording, T0 + 60_000);
  const drift = new Map(
    recording.series({ environmentId: "env_1", metric: "feature.drift" }).map(({ labels, last }) => [labels.feature, last]),
  );
  expect([...drift.keys()]).toEqual(["user.other", "user.same"]);
  expect(drift.get("user.same")).toBeCloseTo(0, 6);
  expect(drift.get("user.other")).toBeGreaterThan(0.25);
  recording.end();
  await store.close();
});
