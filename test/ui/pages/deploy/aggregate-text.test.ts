import { expect, test } from "bun:test";
import { backfillOf, backfillWords, bucketText, featureOf, planText, seriesText } from "../../../../src/ui/pages/deploy/aggregate-text.ts";

const FORM = { feature: "user.spend", lowerBound: "", upperBound: "", resolver: "", isStored: true, isExact: true };

test("a series says what it holds, in which buckets, for how long", () => {
  const series = { aggregation: "sum", aggregated: "payment.amount", group: ["payment.user_id", "payment.kind"] };
  expect(seriesText(series)).toBe("sum of payment.amount by payment.user_id, payment.kind");
  expect(seriesText({ aggregation: "count" })).toBe("count of rows");
  expect(bucketText({ bucket: "3600s", retention: "2592000s" })).toBe("1h, kept for 30d");
  expect(bucketText({ bucket: "86400s", retention: "3153600000s" })).toBe("1d, kept forever");
});

test("a backfill is of all windows of a feature", () => {
  expect(featureOf({ dependentFeatures: ["user.spend__86400__", "user.spend__2592000__"] })).toBe("user.spend");
  expect(featureOf({ dependentFeatures: ["user.spend"] })).toBe("user.spend");
});

test("a form is the request and the command of the same backfill", () => {
  expect(backfillOf(FORM)).toEqual({ feature: "user.spend", resolver: "", computeOnly: false });
  expect(backfillWords(FORM)).toEqual(["aggregate", "backfill", "--feature", "user.spend"]);
  const given = { ...FORM, lowerBound: " 2024-05-01T14:00:00+02:00 ", resolver: " rows ", isStored: false };
  expect(backfillOf(given)).toEqual({
    ...{ feature: "user.spend", resolver: "rows", computeOnly: true },
    lowerBound: "2024-05-01T12:00:00.000Z",
  });
  const words = ["--lower-bound", "2024-05-01T14:00:00+02:00", "--resolver", "rows", "--store-online=false"];
  expect(backfillWords(given).slice(4)).toEqual(words);
  expect(backfillWords(given, true).slice(4)).toEqual([...words, "--dry-run", "--exact"]);
  expect(backfillWords({ ...given, isExact: false }, true).slice(4)).toEqual([...words, "--dry-run"]);
  expect(backfillOf({ ...FORM, upperBound: "soon" })).toEqual({ noTime: "soon" });
});

test("a plan says what is known of it", () => {
  expect(planText({ buckets: "24", rows: "7", tiles: "3", bytes: "2500" })).toBe(
    "7 rows, 24 buckets of each group, at most 3 tiles, about 3 kB",
  );
  expect(planText({})).toBe("rows not counted, tiles not known");
});
