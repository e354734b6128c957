import { expect, test } from "bun:test";
import fc from "fast-check";
import type { Graph } from "../../../../gen/svc/v1/graph_pb.ts";
import { buildGraphIndex } from "../../../../src/server/query/graph/graph-index.ts";
import type { Plan } from "../../../../src/server/query/plan/plan.ts";
import { QueryRefused } from "../../../../src/server/query/refusal.ts";
import { Preparer } from "../../../../src/server/query/request/prepare.ts";
import { seeded } from "../../../harness/seed.ts";
import { type FeatureSpec, featureClass, featureIdsOf, graph, python, sql } from "../graphs.ts";
import { ask, PlayedError, World } from "../worlds.ts";

interface RandomGraph {
  readonly made: Graph;
  readonly inputs: readonly string[];
  readonly outputs: readonly string[];
  readonly tags: readonly string[];
}

/**
 * Graphs of one class: any resolver may take and give any features, so that circles, ties and dead
 * ends abound.
 */
const oneClass: fc.Arbitrary<RandomGraph> = fc
  .integer({ min: 2, max: 12 })
  .chain((size) => {
    const name = fc.integer({ min: 0, max: size - 1 }).map((i) => `a.f${i}`);
    return fc.record({
      defaults: fc.subarray(
        Array.from({ length: size }, (_, i) => i),
        { maxLength: 2 },
      ),
      stale: fc.subarray(Array.from({ length: size }, (_, i) => i)),
      resolvers: fc.array(
        fc.record({
          inputs: fc.uniqueArray(fc.tuple(name, fc.boolean()), { selector: ([path]) => path, maxLength: 3 }),
          outputs: fc.uniqueArray(name, { minLength: 1, maxLength: 3 }),
          tags: fc.subarray(["s", "t"]),
        }),
        { maxLength: 20 },
      ),
      inputs: fc.uniqueArray(name, { maxLength: 3 }),
      outputs: fc.uniqueArray(name, { minLength: 1, maxLength: 4 }),
      tags: fc.subarray(["s", "t"]),
      size: fc.constant(size),
    });
  })
  .map(({ defaults, stale, resolvers, inputs, outputs, tags, size }) => {
    const features: Record<string, FeatureSpec> = { id: "int" };
    for (let i = 0; i < size; i++)
      features[`f${i}`] = {
        type: "str",
        ...(defaults.includes(i) ? { default: `d${i}` } : {}),
        ...(stale.includes(i) ? { stale: "1h" } : {}),
      };
    const made = graph(
      [featureClass("a", features)],
      resolvers.map((one, i) =>
        python(
          `m.r${i}`,
          one.inputs.map(([path, optional]) => (optional ? `${path}?` : path)),
          one.outputs,
          { tags: one.tags },
        ),
      ),
    );
    return { made, inputs: ["a.id", ...inputs], outputs, tags };
  });

/**
 * Graphs of several classes that relate to each other and to themselves in any way, on the primary
 * key or not.
 */
const manyClasses: fc.Arbitrary<RandomGraph> = fc.integer({ min: 1, max: 4 }).chain((classes) => {
  const names = Array.from({ length: classes }, (_, i) => `c${i}`);
  const index = fc.integer({ min: 0, max: classes - 1 });
  const step = fc.constantFrom("r0", "r1");
  const path = fc
    .tuple(fc.array(step, { maxLength: 2 }), fc.constantFrom("x", "y", "k", "id"))
    .map(([steps, name]) => [...steps, name].join("."));
  return fc
    .record({
      relations: fc.array(
        fc.record({ to: index, far: fc.constantFrom("id", "k", "x"), near: fc.constantFrom("k", "x", "y"), optional: fc.boolean() }),
        {
          minLength: classes * 2,
          maxLength: classes * 2,
        },
      ),
      resolvers: fc.array(
        fc.record({
          of: index,
          inputs: fc.array(fc.tuple(path, fc.boolean()), { maxLength: 3 }),
          outputs: fc.subarray(["x", "y", "k", "id"], { minLength: 1 }),
          isSql: fc.boolean(),
        }),
        { maxLength: 10 },
      ),
      stale: fc.subarray(["x", "y", "k"]),
      inputs: fc.uniqueArray(path, { maxLength: 3 }),
      outputs: fc.uniqueArray(path, { minLength: 1, maxLength: 3 }),
    })
    .map(({ relations, resolvers, stale, inputs, outputs }) => {
      const sets = names.map((name, i) => {
        const features: Record<string, FeatureSpec> = { id: "str" };
        for (const feature of ["x", "y", "k"]) features[feature] = { type: "str?", ...(stale.includes(feature) ? { stale: "1h" } : {}) };
        for (const [k, { to, near, far, optional }] of relations.slice(i * 2, i * 2 + 2).entries())
          features[`r${k}`] = { to: `c${to}`, on: [[near, far]], optional };
        return featureClass(name, features);
      });
      const made = graph(
        sets,
        resolvers.map((one, i) => {
          const outs = one.outputs.map((name) => `c${one.of}.${name}`);
          if (one.isSql) return sql(`s${i}`, "select * from t", Object.fromEntries(outs.map((fqn) => [fqn, fqn.slice(3)])));
          return python(
            `m.r${i}`,
            one.inputs.map(([to, optional]) => `c${one.of}.${to}${optional ? "?" : ""}`),
            outs,
          );
        }),
      );
      return { made, inputs: inputs.map((to) => `c0.${to}`), outputs: outputs.map((to) => `c0.${to}`), tags: [] };
    });
});

function planOf({ made, inputs, outputs, tags }: RandomGraph): Plan | QueryRefused {
  const index = buildGraphIndex(made, { environmentName: "", featureIds: featureIdsOf(made), sources: [{ name: "db", kind: 1 }] });
  try {
    return new Preparer(index).prepare(ask(Object.fromEntries(inputs.map((name) => [name, "1"])), outputs, { tags })).plan;
  } catch (error) {
    if (error instanceof QueryRefused) return error;
    throw error;
  }
}

/**
 * Whether the slots of a plan can be put in an order in which everything comes before what waits
 * for it, reads of the store and joins included.
 */
function isAcyclic(plan: Plan): boolean {
  const needs = plan.slots.map((slot) => [
    ...(plan.providersOf(slot).at(-1)?.inputSlots ?? []),
    ...(slot.given >= 0 ? [] : plan.frame(slot.frame).gateSlots),
    ...(slot.readMs > 0 ? [plan.frame(slot.frame).keySlot ?? -1] : []),
  ]);
  const done = new Set<number>();
  for (let before = -1; before < done.size; ) {
    before = done.size;
    for (const [slot, needed] of needs.entries()) if (needed.every((one) => done.has(one))) done.add(slot);
  }
  return done.size === plan.slots.length;
}

/**
 * What a graph of one class can derive, found by trying until nothing new comes. What may be stored
 * counts, because the key is always given.
 */
function derivable({ made, inputs, tags }: RandomGraph): Set<string> {
  const known = new Set(inputs);
  for (const set of made.featureSets)
    for (const feature of set.features)
      if (feature.maxStaleness || (feature.kind.case === "scalar" && feature.kind.value.defaultValue)) known.add(feature.fqn);
  for (let before = -1; before < known.size; ) {
    before = known.size;
    for (const resolver of made.resolvers) {
      if (!resolver.tags.every((tag) => tags.includes(tag))) continue;
      const missing = resolver.inputs.some(
        (input) => input.kind.case === "feature" && !input.kind.value.optional && !known.has(input.kind.value.path),
      );
      if (!missing) for (const output of resolver.outputs) known.add(output);
    }
  }
  return known;
}

test("in one class: a plan is acyclic, and there is one exactly when the outputs can be derived, ties apart", () => {
  let planned = 0;
  fc.assert(
    fc.property(oneClass, (random) => {
      const result = planOf(random);
      const reach = derivable(random);
      if (!(result instanceof QueryRefused)) {
        planned++;
        expect(isAcyclic(result)).toBe(true);
        expect(result.slots.filter((slot) => !reach.has(slot.path))).toEqual([]);
      } else if (!result.message.includes("ambiguous")) {
        expect(random.outputs.some((output) => !reach.has(output))).toBe(true);
      }
    }),
    seeded(200, 100_000),
  );
  expect(planned).toBeGreaterThan(20);
});

test("across classes: planning ends, and a plan is acyclic", () => {
  let planned = 0;
  fc.assert(
    fc.property(manyClasses, (random) => {
      const result = planOf(random);
      if (result instanceof QueryRefused) return;
      planned++;
      expect(isAcyclic(result)).toBe(true);
    }),
    seeded(200, 100_000),
  );
  expect(planned).toBeGreaterThan(20);
});

test("whatever fails or is absent, a run settles every output, and calls a resolver once for a row", async () => {
  await fc.assert(
    fc.asyncProperty(fc.oneof(oneClass, manyClasses), fc.infiniteStream(fc.nat(5)), async ({ made, inputs, outputs, tags }, dice) => {
      const roll = () => dice.next().value as number;
      const functions = Object.fromEntries(
        made.resolvers.map((resolver) => [
          resolver.fqn,
          async () => {
            if (roll() === 0) await null;
            if (roll() === 0) throw new PlayedError("by chance");
            return Object.fromEntries(resolver.outputs.map((fqn) => [fqn, roll() === 0 ? null : roll() === 1 ? 5 : "v"]));
          },
        ]),
      );
      const world = new World(made, { python: functions });
      for (let round = 0; round < 2; round++) {
        const given = Object.fromEntries(inputs.map((name) => [name, name === "a.id" ? 1 : "1"]));
        let answer: Awaited<ReturnType<typeof world.ask>>;
        try {
          answer = await world.ask(given, outputs, { tags, explain: round === 1 });
        } catch (error) {
          if (error instanceof QueryRefused) return;
          throw error;
        }
        expect(answer.fields).toHaveLength(new Set(outputs).size);
        const called = world.pool.called();
        if (made.featureSets[0]?.namespace === "a" && round === 0) expect(new Set(called).size).toBe(called.length);
      }
    }),
    seeded(200, 100_000),
  );
}, 300_000);

test("a knot of a thousand features that all wait for each other is planned, through the best way out", () => {
  const size = 1_000;
  const features: Record<string, FeatureSpec> = { id: "int" };
  for (let i = 0; i < size; i++) features[`f${i}`] = "str";
  const resolvers = Array.from({ length: size }, (_, i) => [
    python(`m.up${i}`, [`a.f${(i + size - 1) % size}`], [`a.f${i}`], { tags: ["s"] }),
    python(`m.down${i}`, [`a.f${(i + 1) % size}`], [`a.f${i}`], { tags: ["s", "t"] }),
    python(`m.leap${i}`, [`a.f${(i + 7) % size}`], [`a.f${i}`], { tags: ["s", "t", "u"] }),
  ]).flat();
  const made = graph([featureClass("a", features)], [...resolvers, python("m.start", ["a.id"], ["a.f0"], { tags: ["s", "t", "u", "v"] })]);
  const result = planOf({ made, inputs: ["a.id"], outputs: ["a.f500"], tags: ["s", "t", "u", "v"] });
  if (result instanceof QueryRefused) throw result;
  expect(isAcyclic(result)).toBe(true);
  expect(result.ops.map((op) => op.resolver?.fqn)).toContain("m.start");
});
