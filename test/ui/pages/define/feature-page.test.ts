import { expect, test } from "bun:test";
import { fromJson, toJson } from "@bufbuild/protobuf";
import { type ValidationJson, ValidationSchema } from "../../../../gen/svc/v1/graph_pb.ts";
import { cachePolicyText } from "../../../../src/domain/cache-policy.ts";
import { validationsText as commandText } from "../../../../src/domain/validations.ts";
import {
  featureVersionText,
  primaryKeyOf,
  providerText,
  servedText,
  storedText,
  validationsText,
  versionsOf,
  versionText,
  windowsOf,
} from "../../../../src/ui/pages/define/feature-text.ts";
import { neighboursIn } from "../../../../src/ui/pages/define/lineage-nodes.ts";
import { distributionOf, shareText } from "../../../../src/ui/pages/define/value-distribution.ts";

const feature = (fqn: string, scalar = {}) => ({ feature: { fqn, namespace: fqn.split(".", 1)[0] ?? "", scalar } });
const ALL = [
  feature("user.id", { primary: true }),
  feature("user.spent__2592000__"),
  feature("user.spent__86400__"),
  feature("user.spent_total"),
  feature("order.spent__86400__"),
];

test("windows of one feature are together, the shortest first; others have none", () => {
  expect(windowsOf(ALL, "user.spent__2592000__")).toEqual(["user.spent__86400__", "user.spent__2592000__"]);
  expect(windowsOf(ALL, "user.spent_total")).toEqual([]);
  expect([primaryKeyOf(ALL, "user"), primaryKeyOf(ALL, "order"), primaryKeyOf(ALL, undefined)]).toEqual(["user.id", "", ""]);
});

test("versions of one feature are together, by number; others have none", () => {
  const versioned = (fqn: string, version: number) => ({ feature: { fqn, version, defaultVersion: 2 } });
  const all = [versioned("trial.code@10", 10), versioned("trial.code", 2), versioned("trial.code@1", 1), feature("trial.codes")];
  expect(versionsOf(all, { fqn: "trial.code@10", version: 10 })).toEqual(["trial.code@1", "trial.code", "trial.code@10"]);
  expect(versionsOf(all, { fqn: "trial.codes" })).toEqual([]);
  expect([{ version: 2, defaultVersion: 2 }, { version: 1, defaultVersion: 2 }, {}].map(featureVersionText)).toEqual([
    "2, the default",
    "1",
    "",
  ]);
});

test("rules and policies are said as commands say them", () => {
  const rules: ValidationJson[] = [
    { min: 0, max: 100, strict: true },
    { minLength: "2", maxLength: "30" },
    { contains: { stringValue: 'a"b' } },
    { contains: { int64Value: "7" }, min: -1.5 },
  ];
  const messages = rules.map((rule) => fromJson(ValidationSchema, rule));
  const again = messages.map((message) => toJson(ValidationSchema, message));
  expect(validationsText(again)).toBe(commandText(messages));
  expect(validationsText(again)).toStartWith("min=0, max=100 (strict); min_length=2, max_length=30; contains=");
  expect(validationsText(undefined)).toBe("");
  expect(cachePolicyText({})).toBe("");
  expect(cachePolicyText({ cacheNulls: false, evictNulls: true, cacheDefaults: false })).toBe(
    'cache_nulls="evict_nulls", cache_defaults=False',
  );
});

test("facts are in words, and text of data is visible", () => {
  expect([storedText({}), storedText({ storeOnline: false }), storedText({ storeOnline: false, storeOffline: false })]).toEqual([
    "online and offline",
    "offline only",
    "nowhere",
  ]);
  expect([{}, { maxStaleness: "3600s" }, { maxStaleness: "315576000000s" }].map(servedText)).toEqual(["never", "for 1h", "always"]);
  expect(versionText({ internalVersion: 1, type: "in\u202et", ended: true })).toBe("1 in\\u202et (ended)");
  expect([providerText({ kind: "PROVIDER_KIND_JOIN" }), providerText({ kind: "PROVIDER_KIND_RESOLVER", resolver: "r" })]).toEqual([
    "its join",
    "",
  ]);
});

test("a lineage of one step is split into what a node needs and what needs it", () => {
  const node = (id: string, kind: "FEATURE" | "RESOLVER" | "SCHEDULED_QUERY") => ({ id, kind: `LINEAGE_KIND_${kind}` as const, name: id });
  const found = neighboursIn(
    {
      nodes: [node("a", "FEATURE"), node("b", "RESOLVER"), node("c", "SCHEDULED_QUERY")],
      edges: [
        { from: "a", to: "b" },
        { from: "b", to: "c" },
        { from: "b", to: "gone" },
      ],
      nodesLeftOff: 3,
    },
    "b",
  );
  expect(found).toEqual({
    needs: [{ id: "a", kind: "feature", name: "a" }],
    neededBy: [{ id: "c", kind: "scheduledQuery", name: "c" }],
    leftOff: 3,
  });
});

test("a distribution is read with zeros that JSON leaves out", () => {
  expect(
    distributionOf({
      bins: [{ upper: 1, count: "2" }],
      quantiles: [{ value: 3 }, { share: 0.5 }, { share: 1, value: 9 }],
      values: [{ count: "4" }],
    }),
  ).toEqual({
    buckets: [{ from: 0, to: 1, count: 2 }],
    quantiles: [
      ["least", 3],
      ["p50", 0],
      ["most", 9],
    ],
    values: [{ name: "", value: 4 }],
  });
  expect([shareText("1", "3"), shareText("0", "0")]).toEqual(["33.3 %", "0 %"]);
});
