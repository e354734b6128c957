import { expect, test } from "bun:test";
import type { OfflineQueryOptionsJson } from "../../../../gen/svc/v1/offline_query_pb.ts";
import {
  type QueryAgainForm,
  queryAgainForm,
  queryAgainRequest,
  queryAgainWords,
} from "../../../../src/ui/pages/run/offline-query-again.ts";

const OPTIONS: OfflineQueryOptionsJson = {
  ...{ outputs: ["user.name", "user.score"], recomputeFeatures: ["user.score"], numShards: 2, tags: ["nightly"], storeOnline: true },
  keys: { lowerBound: "2026-01-01T00:00:00Z", maxSamples: "10" },
};
const request = (changes: Partial<QueryAgainForm>) => queryAgainRequest("ofq_1", OPTIONS, { ...queryAgainForm(OPTIONS), ...changes });
const words = (changes: Partial<QueryAgainForm>) =>
  queryAgainWords("ofq_1", OPTIONS, { ...queryAgainForm(OPTIONS), ...changes })
    .slice(3)
    .join(" ");

test("a query without changes is begun again as it was", () => {
  expect([request({}), words({})]).toEqual([{ id: "ofq_1" }, ""]);
});

test("what is changed is otherwise, all else as it was, also what the form does not show", () => {
  expect(request({ recompute: " all ", numShards: "", upperBound: "2026-02-01T01:00:00+01:00", storeOnline: false })).toEqual({
    id: "ofq_1",
    options: {
      ...OPTIONS,
      ...{ recompute: true, recomputeFeatures: [], numShards: 1, datasetName: "", deploymentId: "", sampleFraction: 0, testFraction: 0 },
      ...{ storeOnline: false, storeOffline: false, asKnown: false },
      keys: { lowerBound: "2026-01-01T00:00:00.000Z", upperBound: "2026-02-01T00:00:00.000Z", maxSamples: "10" },
    },
  });
  expect(words({ outputs: "user.name , user.age", maxSamples: "", storeOffline: true })).toBe(
    "--out user.name,user.age --max-samples 0 --store-offline=true",
  );
  expect(words({ recompute: "", deploymentId: "stable" })).toBe("--recompute none --deployment stable");
  expect(request({ outputs: "", lowerBound: "", recompute: "none" })).toMatchObject({
    options: { outputs: ["user.name", "user.score"], recompute: false, keys: { lowerBound: "2026-01-01T00:00:00.000Z" } },
  });
});

test("what cannot be asked is told before it is", () => {
  for (const [changes, wrong] of [
    [{ lowerBound: "yesterday" }, "'yesterday' is no time with its zone."],
    [{ numShards: "two" }, "'two' is no number of parts or rows."],
    [{ sampleFraction: "1.5" }, "'1.5' is no part: it is above 0 and below 1."],
  ] as const)
    expect(request(changes)).toEqual({ wrong });
});
