/** Resolvers with conditions (`when=`): which of them computes which row. */

import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import type { Expression } from "../../../../gen/svc/v1/graph_pb.ts";
import type { BulkAnswer } from "../../../../src/server/query/bulk.ts";
import { bulkColumn, type QueryRequest } from "../../../../src/server/query/request/request.ts";
import { seeded } from "../../../harness/seed.ts";
import { featureClass, fn, graph, lit, python, type ResolverOptions, ref } from "../graphs.ts";
import { ask, failureOf, fieldOf, PlayedError, World } from "../worlds.ts";

const is = (path: string, value: string): ResolverOptions["when"] => [fn("eq", path, lit(value)), `User.${path} == "${value}"`];

const USER = { id: "int", kind: "str?", score: "float", level: { type: "str", default: "none" } } as const;

function bulk(
  one: World,
  inputs: Readonly<Record<string, readonly unknown[]>>,
  outputs: readonly string[],
  more: Partial<QueryRequest> = {},
): Promise<BulkAnswer> {
  const columns = Object.entries(inputs).map(([name, values]) => bulkColumn(name, values));
  return one.engine.answerBulk(one.deployment, { request: ask({}, outputs, more), columns }, one.now);
}

const valuesOf = ({ columns }: BulkAnswer, path: string) => columns.find((column) => column.path === path)?.values;

describe("of several resolvers of a feature", () => {
  const made = graph(
    [featureClass("user", USER)],
    [
      python("m.else", ["user.id"], ["user.score"], { line: 1 }),
      python("m.late", ["user.id"], ["user.score"], { line: 30, when: [fn("ne", "kind", lit("z")), 'User.kind != "z"'] }),
      python("m.x", ["user.id"], ["user.score"], { line: 20, when: is("kind", "x") }),
    ],
  );
  const play = { "m.else": () => 0, "m.late": () => 2, "m.x": () => 1 };

  test("the first whose condition is true computes a row, in the order of their lines, the one without last; a null condition is not true", async () => {
    const one = new World(made, { python: play });
    const answer = await bulk(one, { "user.id": [1, 2, 3, 4], "user.kind": ["x", "y", "z", null] }, ["user.score"]);
    expect(valuesOf(answer, "user.score")).toEqual([1, 2, 0, 0]);
    expect(one.pool.calls.map(({ resolver, rows }) => [resolver, rows]).sort()).toEqual([
      ["m.else", 2],
      ["m.late", 1],
      ["m.x", 1],
    ]);
  });

  test("an answer names the one that computed it, and an explanation all with their rows", async () => {
    const one = new World(made, { python: play });
    const answer = await one.ask({ "user.id": 1, "user.kind": "y" }, ["user.score"], { explain: true });
    expect(fieldOf(answer, "user.score")).toMatchObject({ value: 2, resolver: "m.late" });
    const lines = answer.explanation?.split("\n").map((line) => line.replace(/[\d.]+ ms/, "_ ms").trim());
    expect(lines).toContain('│  PyResolver m.x (m.py:20)  not called, when User.kind == "x"');
    expect(lines).toContain('│  PyResolver m.late (m.py:30)  rows 1 -> 1  _ ms, when User.kind != "z"');
    expect(lines).toContain("│  PyResolver m.else (m.py:1)  not called, for other rows");
  });

  test("the plan of a query says them in their order", () => {
    const one = new World(made, { python: play });
    const { explain, features, steps } = one.engine.plan(one.deployment, ask({ "user.id": 1, "user.kind": "y" }, ["user.score"]));
    const score = features.find(({ field }) => field === "user.score");
    expect(score?.conditional_steps.map((step) => steps[step]?.provider)).toEqual(["m.x", "m.late"]);
    expect(steps[score?.step ?? -1]?.provider).toBe("m.else");
    expect(explain).toContain("PyResolver m.else (m.py:1), for other rows");
  });

  test("what is stored has the name of the one that computed it", async () => {
    const stored = graph([featureClass("user", { ...USER, score: { type: "float", stale: "1h" } })], made.resolvers);
    const one = new World(stored, { python: play });
    await bulk(one, { "user.id": [1, 2, 3], "user.kind": ["x", "y", "z"] }, ["user.score"]);
    one.pool.calls.length = 0;
    for (const [id, resolver] of [
      [1, "m.x"],
      [2, "m.late"],
      [3, "m.else"],
    ] as const)
      expect(fieldOf(await one.ask({ "user.id": id, "user.kind": "other" }, ["user.score"]), "user.score")).toMatchObject({
        hit: true,
        resolver,
      });
    expect(one.pool.called()).toEqual([]);
  });
});

describe("where no condition is true", () => {
  const made = graph(
    [featureClass("user", USER)],
    [
      python("m.score", ["user.id"], ["user.score"], { line: 5, when: is("kind", "x") }),
      python("m.level", ["user.id"], ["user.level"], { line: 9, when: is("kind", "x") }),
    ],
  );

  test("a row gets the default, else it fails and says what was tested", async () => {
    const one = new World(made, { python: { "m.score": () => 1, "m.level": () => "high" } });
    const answer = await one.ask({ "user.id": 1, "user.kind": "y" }, ["user.score", "user.level"]);
    expect(fieldOf(answer, "user.level").value).toBe("none");
    const { code, message } = failureOf(answer, "user.score");
    expect(code).toBe("RESOLVER_NOT_FOUND");
    expect(message).toContain('because no condition is true:\n  - m.score (m.py:5): User.kind == "x"\n');
    expect(one.pool.called()).toEqual([]);
  });
});

describe("a condition", () => {
  test("on a feature that is computed has it computed, and inputs of resolvers that do not run are not", async () => {
    const made = graph(
      [featureClass("user", { ...USER, dear: "int", cheap: "int" })],
      [
        python("m.kind", ["user.id"], ["user.kind"]),
        python("m.dear", ["user.id"], ["user.dear"]),
        python("m.cheap", ["user.id"], ["user.cheap"]),
        python("m.a", ["user.dear"], ["user.score"], { line: 1, when: is("kind", "x") }),
        python("m.b", ["user.cheap"], ["user.score"], { line: 2 }),
      ],
    );
    const one = new World(made, {
      python: {
        "m.kind": ([id]) => (id === 1 ? "x" : "y"),
        "m.dear": () => 10,
        "m.cheap": () => 1,
        "m.a": ([dear]) => dear,
        "m.b": ([cheap]) => cheap,
      },
    });
    expect(await one.values({ "user.id": 2 }, ["user.score"])).toEqual({ "user.score": 1 });
    expect(one.pool.called().sort()).toEqual(["m.b", "m.cheap", "m.kind"]);
  });

  test("on another output of the resolver that computes the rest does not wait for itself", async () => {
    const made = graph(
      [featureClass("user", USER)],
      [
        python("m.special", ["user.id"], ["user.score"], { line: 1, when: is("kind", "x") }),
        python("m.both", ["user.id"], ["user.score", "user.kind"], { line: 5 }),
      ],
    );
    const one = new World(made, {
      python: { "m.special": () => 100, "m.both": ([id]) => ({ "user.score": id as number, "user.kind": id === 1 ? "x" : "y" }) },
    });
    const answer = await bulk(one, { "user.id": [1, 2] }, ["user.score", "user.kind"]);
    expect(valuesOf(answer, "user.score")).toEqual([100, 2]);
    expect(valuesOf(answer, "user.kind")).toEqual(["x", "y"]);
    expect(one.pool.calls.map(({ resolver, rows }) => [resolver, rows])).toEqual([
      ["m.both", 2],
      ["m.special", 1],
    ]);
  });

  test("that fails fails the row, and the default of the feature stands in", async () => {
    const made = graph(
      [featureClass("user", USER)],
      [
        python("m.kind", ["user.id"], ["user.kind"]),
        python("m.score", ["user.id"], ["user.score"], { line: 1, when: is("kind", "x") }),
        python("m.other", ["user.id"], ["user.score"], { line: 2 }),
        python("m.level", ["user.id"], ["user.level"], { line: 3, when: is("kind", "x") }),
      ],
    );
    const fail = () => {
      throw new PlayedError("no luck");
    };
    const one = new World(made, { python: { "m.kind": fail, "m.score": () => 1, "m.other": () => 2, "m.level": () => "x" } });
    const answer = await one.ask({ "user.id": 1 }, ["user.score", "user.level"]);
    expect(failureOf(answer, "user.score")).toEqual({
      code: "UPSTREAM_FAILED",
      message: "user.score needs the condition of m.score, which failed: no luck",
    });
    expect(fieldOf(answer, "user.level").value).toBe("none");
  });

  test("reads rows that has-one relations lead to; one that is missing makes it null", async () => {
    const made = graph(
      [
        featureClass("bank", { id: "int", tier: "str" }),
        featureClass("user", { ...USER, bank_id: "int?", bank: { to: "bank", on: [["bank_id", "id"]], optional: true } }),
      ],
      [
        python("m.tier", ["bank.id"], ["bank.tier"]),
        python("m.gold", ["user.id"], ["user.score"], { line: 1, when: [fn("eq", "bank.tier", lit("gold")), "gold"] }),
        python("m.other", ["user.id"], ["user.score"], { line: 2 }),
      ],
    );
    const one = new World(made, { python: { "m.tier": ([id]) => (id === 1 ? "gold" : "tin"), "m.gold": () => 1, "m.other": () => 2 } });
    const answer = await bulk(one, { "user.id": [1, 2, 3], "user.bank_id": [1, 2, null] }, ["user.score"]);
    expect(valuesOf(answer, "user.score")).toEqual([1, 2, 2]);
  });

  test("on the feature itself leaves its resolver out, with the reason", async () => {
    const made = graph([featureClass("user", USER)], [python("m.kind", ["user.id"], ["user.kind"], { when: is("kind", "x") })]);
    const refused = await new World(made).refusal({ "user.id": 1 }, ["user.kind"]);
    expect(refused.message).toContain("it needs user.when(m.kind)");
  });
});

test("a run of a resolver by itself leaves out rows for which its condition is not true", async () => {
  const made = graph(
    [featureClass("user", { ...USER, kind: { type: "str", default: "y" } })],
    [python("m.level", ["user.id"], ["user.level"], { when: is("kind", "x") })],
  );
  const one = new World(made, { python: { "m.level": () => "high" } });
  const kind = [...one.engine.classesOf(one.deployment).values()][0]?.scalars.find(({ name }) => name === "kind");
  const run = one.engine.runResolver(one.deployment, {
    resolver: "m.level",
    now: one.now,
    into: "both",
    signal: new AbortController().signal,
  } as never);
  expect(run.inputs.map(({ fqn }) => fqn)).toEqual(["user.kind"]);
  const inputs = new Map([[run.inputs[0] ?? (kind as never), ["x", "y", "x", undefined]]]);
  expect(await run.compute({ keys: [1, 2, 3, 4], inputs }, false)).toEqual({ rows: 2, failedRows: 0, error: "" });
  expect(one.pool.calls.map(({ rows }) => rows)).toEqual([2]);
});

test("whatever the conditions and outputs, each feature of a row is what the first true one gives", async () => {
  const names = ["a", "b", "c"];
  const arbitrary = fc.record({
    resolvers: fc.array(
      fc.record({
        outputs: fc.subarray(names, { minLength: 1 }),
        on: fc.option(fc.record({ name: fc.constantFrom("kind", ...names), value: fc.integer({ min: 0, max: 3 }) }), { freq: 5 }),
      }),
      { minLength: 1, maxLength: 5 },
    ),
    kinds: fc.array(fc.integer({ min: 0, max: 3 }), { minLength: 1, maxLength: 4 }),
    asked: fc.subarray(names, { minLength: 1 }),
  });
  await fc.assert(
    fc.asyncProperty(arbitrary, async ({ resolvers, kinds, asked }) => {
      // A condition reads features that come before all outputs, so that nothing waits for itself.
      const before = (on: string, outputs: readonly string[]) => on === "kind" || outputs.every((output) => on < output);
      const sound = resolvers.filter(({ on, outputs }) => !on || before(on.name, outputs));
      // One resolver without a condition at most gives a feature.
      const kept = sound.filter(
        ({ on, outputs }, at) =>
          on || !sound.slice(0, at).some((other) => !other.on && other.outputs.some((output) => outputs.includes(output))),
      );
      const fqn = (at: number) => `m.r${at}`;
      const givenBy = (at: number, output: string, id: number) => (at * 7 + output.charCodeAt(0) + id) % 4;
      const condition = (on: { name: string; value: number }): Expression => fn("eq", ref(on.name), lit(on.value));
      const made = graph(
        [featureClass("row", { id: "int", kind: "int", ...Object.fromEntries(names.map((name) => [name, { type: "int", default: -1 }])) })],
        kept.map(({ on, outputs }, at) =>
          python(
            fqn(at),
            ["row.id"],
            outputs.map((output) => `row.${output}`),
            { line: at + 1, ...(on ? { when: [condition(on), "c"] as const } : {}) },
          ),
        ),
      );
      const play = Object.fromEntries(
        kept.map(({ outputs }, at) => [
          fqn(at),
          ([id]: readonly unknown[]) => Object.fromEntries(outputs.map((output) => [`row.${output}`, givenBy(at, output, id as number)])),
        ]),
      );
      const one = new World(made, { python: play });
      const expected = (id: number, name: string): number => {
        if (name === "kind") return kinds[id] as number;
        const givers = [...kept.keys()].filter((at) => kept[at]?.outputs.includes(name));
        const first =
          givers.find((at) => {
            const on = kept[at]?.on;
            return on && expected(id, on.name) === on.value;
          }) ?? givers.find((at) => !kept[at]?.on);
        return first === undefined ? -1 : givenBy(first, name, id);
      };
      const answer = await bulk(
        one,
        { "row.id": [...kinds.keys()], "row.kind": kinds },
        asked.map((name) => `row.${name}`),
      );
      for (const name of asked) expect(valuesOf(answer, `row.${name}`)).toEqual(kinds.map((_, id) => expected(id, name)));
      for (const { resolver, rows } of one.pool.calls) expect(rows, resolver).toBeLessThanOrEqual(kinds.length);
    }),
    seeded(300),
  );
});
