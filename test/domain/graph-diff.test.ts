import { describe, expect, test } from "bun:test";
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { ChangeKind } from "../../gen/svc/v1/deployment_pb.ts";
import {
  type EvaluationSchema,
  type ExpressionSchema,
  type FeatureSchema,
  type Graph,
  GraphSchema,
  type MonitorSchema,
  type ResolverSchema,
} from "../../gen/svc/v1/graph_pb.ts";
import { PrimitiveType } from "../../gen/svc/v1/value_pb.ts";
import { addFeatures, diffGraphs, outlivingFeatures } from "../../src/domain/graph-diff.ts";

type FeatureInit = MessageInitShape<typeof FeatureSchema>;
type ResolverInit = MessageInitShape<typeof ResolverSchema>;

const scalar = (type: PrimitiveType, more: object = {}): FeatureInit["kind"] => ({
  case: "scalar",
  value: { dtype: { kind: { case: "primitive", value: type } }, ...more },
});
const feature = (name: string, more: FeatureInit = {}): FeatureInit => ({
  fqn: `user.${name}`,
  name,
  namespace: "user",
  kind: scalar(PrimitiveType.INT64),
  ...more,
});
const graph = (features: FeatureInit[], resolvers: ResolverInit[] = []): Graph =>
  create(GraphSchema, { featureSets: [{ namespace: "user", features }], resolvers });
const none = { before: new Map<string, number>(), after: new Map<string, number>() };
const details = (before: FeatureInit, after: FeatureInit) => {
  const [change] = diffGraphs(graph([feature("f", before)]), graph([feature("f", after)]), none).features;
  return change?.details;
};

describe("graph diff", () => {
  test("everything is added when nothing was there", () => {
    const diff = diffGraphs(undefined, graph([feature("b"), feature("a")], [{ fqn: "m.f", sourceSha256: "1" }]), {
      before: new Map(),
      after: new Map([["m.f", 3]]),
    });
    expect(diff.features.map(({ fqn, change }) => [fqn, change])).toEqual([
      ["user.a", ChangeKind.ADDED],
      ["user.b", ChangeKind.ADDED],
    ]);
    expect(diff.features[0]?.feature?.fqn).toBe("user.a");
    expect(diff.resolvers.map(({ fqn, change, oldVersion, newVersion }) => [fqn, change, oldVersion, newVersion])).toEqual([
      ["m.f", ChangeKind.ADDED, 0, 3],
    ]);
  });

  test("streams are among the resolvers, wherever their text is", () => {
    const streams = (timeout: bigint, line: number) =>
      create(GraphSchema, {
        streamResolvers: [{ fqn: "m.on_user", sourceSha256: "1", timeout: { seconds: timeout }, span: { file: "m.py", line } }],
      });
    const changes = (before: Graph | undefined, after: Graph) =>
      diffGraphs(before, after, none).resolvers.map(({ fqn, change, oldVersion, newVersion }) => [fqn, change, oldVersion, newVersion]);
    expect(changes(undefined, streams(1n, 1))).toEqual([["m.on_user", ChangeKind.ADDED, 0, 1]]);
    expect(changes(streams(1n, 1), streams(1n, 9))).toEqual([]);
    expect(changes(streams(1n, 1), streams(2n, 1))).toEqual([["m.on_user", ChangeKind.CHANGED, 1, 2]]);
    expect(changes(streams(1n, 1), graph([]))).toEqual([["m.on_user", ChangeKind.REMOVED, 1, 0]]);
  });

  test("definitions that were left out of a difference are added from the graph after", () => {
    const [before, after] = [graph([feature("a"), feature("b")]), graph([feature("b", { owner: "x" }), feature("c")])];
    const [whole, bare] = [diffGraphs(before, after, none), diffGraphs(before, after, none)];
    for (const change of bare.features) delete change.feature;
    expect(bare).not.toEqual(whole);
    addFeatures(bare, after);
    expect(bare).toEqual(whole);
  });

  test("equal graphs differ in nothing, wherever things stand in the files", () => {
    const span = (line: number) => ({ file: "a.py", line, column: 1, endLine: line, endColumn: 2 });
    const at = (line: number) => {
      const one: MessageInitShape<typeof ExpressionSchema> = {
        node: { case: "literal", value: { kind: { case: "int64Value", value: 1n } } },
        span: span(line),
      };
      const sum: MessageInitShape<typeof ExpressionSchema> = {
        node: { case: "call", value: { function: "add", arguments: [one, one] } },
        span: span(line),
      };
      return graph(
        [feature("a", { span: span(line) }), feature("sum", { kind: scalar(PrimitiveType.INT64, { expression: sum }) })],
        [
          { fqn: "m.g", sourceSha256: "2", span: span(line), untranslated: `line ${line}: it loops` },
          { fqn: "m.h", sourceSha256: "3", inputs: [{ name: "rows", kind: { case: "rows", value: { path: "user.a", filters: [sum] } } }] },
          {
            fqn: "m.f",
            sourceSha256: "1",
            span: span(line),
            body: {
              case: "sql",
              value: {
                body: "select 1",
                bodyLine: line,
                sourceSpan: span(line),
                columns: [{ column: "a", feature: "u.a", span: span(line) }],
              },
            },
          },
        ],
      );
    };
    const diff = diffGraphs(at(1), at(50), none);
    expect([diff.features, diff.resolvers]).toEqual([[], []]);
  });

  test("resolvers go by their source and by what they say", () => {
    const before = graph(
      [],
      [
        { fqn: "m.gone", sourceSha256: "1" },
        { fqn: "m.same", sourceSha256: "1" },
        { fqn: "m.source", sourceSha256: "1" },
        { fqn: "m.tags", sourceSha256: "1" },
      ],
    );
    const after = graph(
      [],
      [
        { fqn: "m.same", sourceSha256: "1" },
        { fqn: "m.source", sourceSha256: "2" },
        { fqn: "m.tags", sourceSha256: "1", tags: ["x"] },
      ],
    );
    const versions = {
      before: new Map([
        ["m.gone", 4],
        ["m.source", 2],
        ["m.tags", 1],
      ]),
      after: new Map([
        ["m.source", 5],
        ["m.tags", 1],
      ]),
    };
    expect(
      diffGraphs(before, after, versions).resolvers.map(({ fqn, change, oldVersion, newVersion }) => [fqn, change, oldVersion, newVersion]),
    ).toEqual([
      ["m.gone", ChangeKind.REMOVED, 4, 0],
      ["m.source", ChangeKind.CHANGED, 2, 5],
      ["m.tags", ChangeKind.CHANGED, 1, 1],
    ]);
  });

  test("a removed feature has no definition, a changed one says what changed", () => {
    const diff = diffGraphs(graph([feature("gone"), feature("kept")]), graph([feature("kept", { owner: "a@example.com" })]), none);
    expect(diff.features.map(({ fqn, change, feature, details }) => [fqn, change, feature !== undefined, details])).toEqual([
      ["user.gone", ChangeKind.REMOVED, false, []],
      ["user.kept", ChangeKind.CHANGED, true, ["owner none -> a@example.com"]],
    ]);
  });

  test.each<[string, FeatureInit, FeatureInit, string[]]>([
    ["type", {}, { kind: scalar(PrimitiveType.STRING) }, ["type int -> str"]],
    ["null", {}, { kind: scalar(PrimitiveType.INT64, { nullable: true }) }, ["type int -> int | None"]],
    ["staleness", {}, { maxStaleness: { seconds: 1800n } }, ["max_staleness 0s -> 30m"]],
    [
      "what is stored",
      { kind: scalar(PrimitiveType.INT64, { storeOffline: true }) },
      { kind: scalar(PrimitiveType.INT64, { storeOnline: false, storeOffline: false, cacheNulls: false }) },
      ["store_online none -> no", "store_offline none -> no", "cache_nulls none -> no"],
    ],
    [
      "never expires",
      { maxStaleness: { seconds: 315_576_000_000n } },
      { maxStaleness: { seconds: 86_400n } },
      ["max_staleness infinity -> 1d"],
    ],
    [
      "default",
      {},
      { kind: scalar(PrimitiveType.INT64, { defaultValue: { kind: { case: "int64Value", value: 5n } } }) },
      ["default none -> 5"],
    ],
    [
      "default to null",
      { kind: scalar(PrimitiveType.STRING, { defaultValue: { kind: { case: "stringValue", value: "x" } } }) },
      { kind: scalar(PrimitiveType.STRING, { defaultValue: { kind: { case: "nullValue", value: 0 } } }) },
      ['default "x" -> null'],
    ],
    ["tags", { tags: ["a"] }, { tags: ["a", "b"] }, ["tags a -> a, b"]],
    [
      "several",
      { owner: "a@example.com" },
      { owner: "b@example.com", deprecated: true },
      ["owner a@example.com -> b@example.com", "deprecated none -> yes"],
    ],
    ["key", {}, { kind: scalar(PrimitiveType.INT64, { primary: true }) }, ["primary key none -> yes"]],
    [
      "join",
      { kind: { case: "hasOne", value: { foreignNamespace: "account", join: [{ local: "user.account_id", foreign: "account.id" }] } } },
      {
        kind: {
          case: "hasOne",
          value: { foreignNamespace: "account", optional: true, join: [{ local: "user.acct", foreign: "account.id" }] },
        },
      },
      ["type account -> account | None", "join user.account_id = account.id -> user.acct = account.id"],
    ],
  ])("says a change of %s in words", (_name, before, after, expected) => {
    expect(details(before, after)).toEqual(expected);
  });

  test("monitors go by their names, and say what changed of them", () => {
    const monitors = (...all: MessageInitShape<typeof MonitorSchema>[]) => create(GraphSchema, { monitors: all });
    const slow = { name: "slow", expression: "p99:query.latency", above: "80ms", severity: "warning", span: { line: 1 } };
    const before = monitors(slow, { name: "gone", expression: "sum:query.count", below: "1" });
    const after = monitors(
      { ...slow, above: "100ms", pendingFor: { seconds: 600n }, webhooks: ["ops"], span: { line: 9 } },
      { name: "fresh", expression: "sum:query.count", below: "1" },
    );
    expect(diffGraphs(before, after, none).monitors.map(({ name, change, details }) => [name, change, details])).toEqual([
      ["fresh", ChangeKind.ADDED, []],
      ["gone", ChangeKind.REMOVED, []],
      ["slow", ChangeKind.CHANGED, ["above 80ms -> 100ms", "notify none -> ops", "for_ none -> 10m"]],
    ]);
    expect(diffGraphs(before, monitors({ ...slow, span: { line: 7 } }, ...before.monitors.slice(1)), none).monitors).toEqual([]);
  });

  test("evaluations go by their names, and say what changed of them", () => {
    const evaluations = (...all: MessageInitShape<typeof EvaluationSchema>[]) => create(GraphSchema, { evaluations: all });
    const judge = (prompt: string) => [{ name: "judge", kind: { case: "judge" as const, value: { model: "m", prompt } } }];
    const inputs = [{ parameter: "text", column: "text" }];
    const one = { name: "one", dataset: "words", task: "m.f", inputs, scorers: judge("a?"), tags: ["t"], span: { line: 1 } };
    const before = evaluations(one, { ...one, name: "asked" }, { name: "gone", dataset: "words" });
    const after = evaluations(
      { ...one, revision: "rev_1", key: "text", inputs: [{ parameter: "text", column: "body" }], span: { line: 7 } },
      { ...one, name: "asked", scorers: judge("b?") },
      { name: "fresh", dataset: "words" },
    );
    expect(diffGraphs(before, after, none).evaluations.map(({ name, change, details }) => [name, change, details])).toEqual([
      ["asked", ChangeKind.CHANGED, ["definition"]],
      ["fresh", ChangeKind.ADDED, []],
      ["gone", ChangeKind.REMOVED, []],
      ["one", ChangeKind.CHANGED, ["dataset words -> words@rev_1", "inputs text -> text=body", "key none -> text"]],
    ]);
    expect(diffGraphs(before, evaluations({ ...one, span: { line: 9 } }, ...before.evaluations.slice(1)), none).evaluations).toEqual([]);
  });

  test("cached values outlive the resolvers that are changed or put in another's place, not those of new features", () => {
    const cached = { maxStaleness: { seconds: 60n, nanos: 0 } };
    const made = (fqn: string, output: string, sourceSha256: string) => ({ fqn, sourceSha256, outputs: [`user.${output}`] });
    const kept = [feature("changed", cached), feature("moved", cached), feature("same", cached), feature("uncached")];
    const before = graph(kept, [
      made("m.a", "changed", "1"),
      made("m.b", "moved", "1"),
      made("m.c", "same", "1"),
      made("m.d", "uncached", "1"),
    ]);
    const after = graph(
      [...kept, feature("fresh", cached)],
      [
        made("m.a", "changed", "2"),
        made("m.z", "moved", "1"),
        made("m.c", "same", "1"),
        made("m.d", "uncached", "2"),
        made("m.e", "fresh", "1"),
      ],
    );
    const diff = diffGraphs(before, after, {
      before: new Map(),
      after: new Map([
        ["m.a", 2],
        ["m.z", 1],
        ["m.c", 1],
        ["m.d", 2],
        ["m.e", 1],
      ]),
    });
    expect(outlivingFeatures(diff, after).map(({ fqn }) => fqn)).toEqual(["user.changed", "user.moved"]);
  });
});
