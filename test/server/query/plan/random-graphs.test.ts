import { expect, test } from "bun:test";
import fc from "fast-check";
import type { Expression } from "../../../../gen/svc/v1/graph_pb.ts";
import type { FeatureValue } from "../../../../src/domain/value.ts";
import { SpanRecorder } from "../../../../src/server/query/answer/spans.ts";
import { QueryRefused } from "../../../../src/server/query/refusal.ts";
import { bulkColumn } from "../../../../src/server/query/request/request.ts";
import { patience, seeded } from "../../../harness/seed.ts";
import { agg, type FeatureSpec, featureClass, fn, graph, lit, python, sql } from "../graphs.ts";
import { ask, MemorySource, valuesOf, World } from "../worlds.ts";

const START = Date.parse("2024-01-01T00:00:00Z");
const iso = (minute: number) => new Date(START + minute * 60_000).toISOString();
const LEVELS = 3;

/**
 * What a feature of a level is made of; features only use those of lower levels, so that there are
 * no circles.
 */
type Rule =
  | { readonly kind: "add"; readonly left: string; readonly right: string }
  | { readonly kind: "one"; readonly of: string }
  | { readonly kind: "sum" | "max"; readonly of: string }
  | { readonly kind: "count"; readonly of: string; readonly above: number };

interface Row {
  readonly id: number;
  readonly k: number | null;
  readonly v: number | null;
  readonly at: number | null;
}

interface RandomClass {
  /** The class that `k` points to, whose rows have this one's as `many<class>`. */
  readonly one: number;
  /** The class whose `k` points here. */
  readonly many: number;
  readonly timed: boolean;
  readonly rules: readonly Rule[];
  readonly rows: readonly Row[];
}

const leaf = (level: number) => fc.constantFrom("v", "p", ...Array.from({ length: level }, (_, i) => `e${i}`));
const ruleOf = (level: number): fc.Arbitrary<Rule> =>
  fc.oneof(
    fc.record({ kind: fc.constant("add" as const), left: leaf(level), right: leaf(level) }),
    fc.record({ kind: fc.constant("one" as const), of: leaf(level) }),
    fc.record({ kind: fc.constantFrom("sum" as const, "max" as const), of: leaf(level) }),
    fc.record({ kind: fc.constant("count" as const), of: leaf(level), above: fc.integer({ min: -3, max: 6 }) }),
  );

const id = fc.integer({ min: 1, max: 6 });
const randomClass = (classes: number): fc.Arbitrary<RandomClass> =>
  fc.record({
    one: fc.integer({ min: 0, max: classes - 1 }),
    many: fc.integer({ min: 0, max: classes - 1 }),
    timed: fc.boolean(),
    rules: fc.tuple(...Array.from({ length: LEVELS }, (_, level) => ruleOf(level))),
    rows: fc.uniqueArray(
      fc.record({
        id,
        k: fc.option(id, { freq: 6 }),
        v: fc.option(fc.integer({ min: -5, max: 9 }), { freq: 6 }),
        at: fc.option(fc.nat(100), { freq: 6 }),
      }),
      { selector: (row) => row.id, maxLength: 6 },
    ),
  });

const worlds = fc
  .integer({ min: 1, max: 3 })
  .chain((classes) => fc.array(randomClass(classes), { minLength: classes, maxLength: classes }));

function expressionOf(rule: Rule): Expression {
  switch (rule.kind) {
    case "add":
      return fn("add", rule.left, rule.right);
    case "one":
      return fn("add", `one.${rule.of}`, lit(0));
    case "count":
      return agg("count", "many", undefined, fn("gt", rule.of, lit(rule.above)));
    default:
      return agg(rule.kind, "many", rule.of);
  }
}

function make(classes: readonly RandomClass[]): World {
  const sets = classes.map(({ one, many, timed, rules }, i) => {
    const features: Record<string, FeatureSpec> = {
      id: "int",
      k: "int?",
      v: "int?",
      p: "int?",
      at: { type: "datetime?", time: timed },
      one: { to: `c${one}`, on: [["k", "id"]], optional: true },
      many: { many: `c${many}`, on: [["id", "k"]] },
    };
    for (const [level, rule] of rules.entries()) features[`e${level}`] = { type: "int?", expression: expressionOf(rule) };
    return featureClass(`c${i}`, features);
  });
  const resolvers = classes.flatMap((_, i) => [
    sql(`t${i}`, `select id, k, v, at from t${i}`, { [`c${i}.id`]: "id", [`c${i}.k`]: "k", [`c${i}.v`]: "v", [`c${i}.at`]: "at" }),
    python(`m.p${i}`, [`c${i}.id`, `c${i}.v?`], [`c${i}.p`]),
  ]);
  const tables = classes.map(({ rows }, i) => {
    const lines = rows.map((row) => `(${row.id}, ${row.k}, ${row.v}, ${row.at === null ? null : `'${iso(row.at)}'`})`);
    return `create table t${i} (id integer, k integer, v integer, at text); ${lines.length > 0 ? `insert into t${i} values ${lines.join(", ")};` : ""}`;
  });
  const functions = Object.fromEntries(
    classes.map((_, i) => [`m.p${i}`, ([key, v]: readonly FeatureValue[]) => (v === null ? null : Number(key) + Number(v))]),
  );
  return new World(graph(sets, resolvers), { sources: [new MemorySource("db", tables.join("\n"))], python: functions });
}

/** The value of a feature of a row at a time, found by walking from row to row. */
function oracle(classes: readonly RandomClass[], of: number, key: number, name: string, now: number): number | null {
  const own = classes[of] as RandomClass;
  const visible = (at: number) => {
    const one = classes[at] as RandomClass;
    return one.rows.filter((row) => !one.timed || row.at === null || row.at <= now);
  };
  const row = visible(of).find((candidate) => candidate.id === key);
  if (name === "v") return row?.v ?? null;
  if (name === "p") return row === undefined || row.v === null ? null : key + row.v;
  const rule = own.rules[Number(name.slice(1))] as Rule;
  if (rule.kind === "add") {
    const left = oracle(classes, of, key, rule.left, now);
    const right = oracle(classes, of, key, rule.right, now);
    return left === null || right === null ? null : left + right;
  }
  if (rule.kind === "one") return row === undefined || row.k === null ? null : oracle(classes, own.one, row.k, rule.of, now);
  const found: number[] = [];
  for (const child of visible(own.many)) {
    if (child.k !== key) continue;
    const value = oracle(classes, own.many, child.id, rule.of, now);
    if (value !== null) found.push(value);
  }
  if (rule.kind === "count") return found.filter((value) => value > rule.above).length;
  if (rule.kind === "max") return found.length === 0 ? null : Math.max(...found);
  return found.reduce((sum, value) => sum + value, 0);
}

test(
  "any graph of relations and expressions gives at any time what walking from row to row gives",
  async () => {
    let answered = 0;
    await fc.assert(
      fc.asyncProperty(worlds, fc.nat(100), async (classes, minute) => {
        const world = make(classes);
        const now = BigInt(START + minute * 60_000) * 1000n;
        const keys = [1, 2, 3, 6];
        for (let level = 0; level < LEVELS; level++) {
          const outputs = [`c0.e${level}`, `c0.many.e${level}`];
          let bulk: Awaited<ReturnType<typeof world.engine.answerBulk>>;
          try {
            bulk = await world.engine.answerBulk(
              world.deployment,
              { request: ask({}, outputs, { now }), columns: [bulkColumn("c0.id", keys)] },
              world.now,
            );
          } catch (error) {
            if (!(error instanceof QueryRefused) || !error.message.includes("once more")) throw error;
            continue;
          }
          answered++;
          const many = classes[0]?.many ?? 0;
          const child = classes[many] as RandomClass;
          const lists = keys.map((key) =>
            child.rows
              .filter((row) => row.k === key && (!child.timed || row.at === null || row.at <= minute))
              .map((row) => oracle(classes, many, row.id, `e${level}`, minute)),
          );
          expect(bulk.failures).toEqual([]);
          expect(bulk.columns[0]?.values).toEqual(keys.map((key) => oracle(classes, 0, key, `e${level}`, minute)));
          expect(bulk.columns[1]?.values).toEqual(lists);
          const expected = {
            [outputs[0] as string]: oracle(classes, 0, 2, `e${level}`, minute),
            [outputs[1] as string]: lists[1] as FeatureValue,
          };
          expect(await world.values({ "c0.id": 2 }, outputs, { now })).toEqual(expected);
          const spans = new SpanRecorder("door", world.now, undefined);
          const watched = ask({ "c0.id": 2 }, outputs, { now, storePlanStages: true });
          const answer = await world.engine.answer(world.deployment, watched, world.now, undefined, { parent: undefined, spans });
          expect(valuesOf(answer)).toEqual(expected);
          const kept = spans.finish({ queryId: answer.queryId, deploymentId: "dpl_1" }, {});
          const ids = new Set(kept.map(({ spanId }) => spanId));
          expect(kept.filter((span) => span.error !== "" || (span.kind !== "gateway" && !ids.has(span.parentSpanId)))).toEqual([]);
          expect(answer.stages).toHaveLength(kept.filter(({ kind }) => kind === "op").length);
        }
      }),
      seeded(100, 20_000),
    );
    expect(answered).toBeGreaterThan(100);
  },
  patience(300_000),
);

const name = fc.constantFrom("v", "p", "e0", "e1", "e2", "one.e0", "one.v", "one.one.e1");
const knot = fc.integer({ min: 1, max: 3 }).chain((classes) => {
  const other = fc.integer({ min: 0, max: classes - 1 });
  const feature = fc.record({
    kind: fc.constantFrom("add", "sum", "python"),
    left: name,
    right: name,
    more: fc.constantFrom({}, { default: 3 }, { stale: "1h" }),
  });
  return fc.array(fc.record({ one: other, many: other, features: fc.tuple(feature, feature, feature), hasRows: fc.boolean() }), {
    minLength: classes,
    maxLength: classes,
  });
});

test(
  "features of any knot of expressions, DataFrames and relations are answered or refused, and nothing stalls",
  async () => {
    let answered = 0;
    await fc.assert(
      fc.asyncProperty(knot, async (classes) => {
        const resolvers = classes.flatMap((_, i) => [python(`m.p${i}`, [`c${i}.id`], [`c${i}.p`])]);
        const sets = classes.map(({ one, many, features, hasRows }, i) => {
          const specs: Record<string, FeatureSpec> = {
            id: "int",
            k: "int?",
            v: "int?",
            p: "int?",
            one: { to: `c${one}`, on: [["k", "id"]], optional: true },
            many: { many: `c${many}`, on: [["id", "k"]] },
          };
          for (const [at, { kind, left, right, more }] of features.entries()) {
            const expression =
              kind === "add" ? fn("add", left, right) : kind === "sum" ? agg("sum", "many", left, fn("gt", right, lit(0))) : undefined;
            specs[`e${at}`] = { type: "int?", ...more, ...(expression ? { expression } : {}) };
            if (kind === "python") {
              const rows = { rows: `c${i}.many`, columns: right.includes("one") ? [] : [`c${many}.${right}`] };
              resolvers.push(python(`m.r${i}_${at}`, [`c${i}.${left}`, rows], [`c${i}.e${at}`]));
            }
          }
          if (hasRows) resolvers.push(sql(`t${i}`, "select id, k, v from t", { [`c${i}.id`]: "id", [`c${i}.k`]: "k", [`c${i}.v`]: "v" }));
          return featureClass(`c${i}`, specs);
        });
        const world = new World(graph(sets, resolvers), {
          sources: [
            new MemorySource(
              "db",
              "create table t (id integer, k integer, v integer); insert into t values (1, 1, 1), (2, 1, 2), (3, 2, null)",
            ),
          ],
          python: Object.fromEntries(resolvers.map((resolver) => [resolver.fqn, () => 1])),
        });
        for (const output of ["c0", "c0.many", "c0.e0", "c0.many.e2"])
          for (const explain of [false, true])
            try {
              const answer = await world.ask({ "c0.id": 1 }, [output], { explain });
              expect(answer.fields.length).toBeGreaterThan(0);
              answered++;
            } catch (error) {
              if (!(error instanceof QueryRefused)) throw error;
            }
      }),
      seeded(100, 20_000),
    );
    expect(answered).toBeGreaterThan(100);
  },
  patience(300_000),
);
