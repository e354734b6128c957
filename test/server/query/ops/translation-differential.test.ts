/**
 * Translated functions against Python itself: random functions on random values, both ways through
 * the engine, must agree in values and errors, and with what an interpreter gives that knows
 * nothing of the engine.
 */

import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { type FeatureValue, normalizeInt } from "../../../../src/domain/value.ts";
import type { BulkAnswer } from "../../../../src/server/query/bulk.ts";
import { runs, seed } from "../../../harness/seed.ts";
import { type PlainResult, plainPython } from "../plain-python.ts";
import { PythonWorld } from "../python-world.ts";
import { CONSTANTS, type RandomFunction, randomFunction } from "../random-functions.ts";
import { EDGES, type Kind, PARAMETERS, randomOf, randomValue } from "../random-values.ts";
import { OPERATIONS, operation } from "../single-operations.ts";

/** What bounds the work is the number of functions, whatever time a busy machine takes for them. */
const NO_LIMIT_MS = 2 ** 31 - 1;
setDefaultTimeout(NO_LIMIT_MS);

const FUNCTIONS = runs(150, 5_000);
const ROWS = 100;

const random = randomOf(seed);
const functions: RandomFunction[] = [
  ...Array.from({ length: FUNCTIONS }, (_, index) => randomFunction(random, `f${index}`)),
  ...OPERATIONS.map(([kind, text], index) => operation(`g${index}`, kind, text)),
];
let world: PythonWorld;

beforeAll(async () => {
  const lines = [
    "import math",
    "from math import floor",
    "from typing import Optional",
    "from datetime import datetime",
    "from svc import online",
    "from svc.features import Features, features",
    "",
    ...CONSTANTS,
    "",
    "",
    "@features",
    "class Row:",
    "    id: int",
    ...Object.entries(PARAMETERS).map(([name, kind]) => `    ${name}: ${kind} | None`),
    ...functions.flatMap(({ outputs }) => outputs.map(([name, kind], at) => `    ${name}: ${kind}${at === 0 ? " | None" : ""}`)),
    ...functions.flatMap(({ text }) => ["", "", text]),
    "",
  ];
  world = await PythonWorld.start({ "rows.py": lines.join("\n") });
});

afterAll(() => world?.close());

interface Came {
  readonly value?: unknown;
  readonly resolver?: string;
  readonly exception?: unknown;
  readonly failure?: unknown;
}

function rowsOf(answer: BulkAnswer): Map<string, Came> {
  const found = new Map<string, Came>();
  for (const { path, values } of answer.columns)
    for (const [row, value] of values.entries()) found.set(`${path}#${row}`, { value: exact(value) });
  for (const { row, feature, code, category, message, resolver, exception } of answer.failures)
    found.set(`${feature}#${row}`, { failure: { code, category, message }, resolver, exception });
  return found;
}

/** Tells -0 from 0 and an int beyond 2^53 from a float. */
function exact(value: FeatureValue): unknown {
  return Object.is(value, -0) ? "-0" : typeof value === "bigint" ? `int ${value}` : value;
}

type Shown = readonly [type: string, text: string];

/**
 * What the engine makes of a value of Python; undefined where the value has another type than the
 * feature, which the rules of types are about.
 */
function taken(kind: Kind, [type, text]: Shown, isOptional: boolean): unknown {
  if (type === "NoneType") return isOptional ? { value: null } : undefined;
  if (type !== kind) return undefined;
  if (kind === "str") return /\p{Surrogate}/u.test(text) ? undefined : { value: text };
  if (kind === "bool") return { value: text === "True" };
  if (kind === "float") return { value: exact(Number(text.replace("inf", "Infinity"))) };
  const int = BigInt(text);
  return BigInt.asIntN(64, int) === int ? { value: exact(normalizeInt(int)) } : undefined;
}

/**
 * Compares what came through the engine with what Python gives without it; gives how many values
 * and exceptions there were, and how many had no say.
 */
function compareWithPlain(asked: readonly RandomFunction[], came: ReadonlyMap<string, Came>, plain: readonly (readonly PlainResult[])[]) {
  let [compared, skipped] = [0, 0];
  for (const [at, { outputs, text }] of asked.entries())
    for (const [row, result] of (plain[at] as readonly PlainResult[]).entries()) {
      const values = "outputs" in result ? outputs.map(([, kind], place) => taken(kind, result.outputs[place] as Shown, place === 0)) : [];
      // A value of another type fails all that the call gives; None fails what must not be null.
      const isJudged = "outputs" in result && result.outputs.some(([type], place) => type !== "NoneType" && values[place] === undefined);
      for (const [place, [name]] of outputs.entries()) {
        const wanted = "raised" in result ? { raised: result.raised } : isJudged ? undefined : values[place];
        if (wanted === undefined) {
          skipped++;
          continue;
        }
        const got = came.get(`row.${name}#${row}`) as Came;
        const exception = got.exception as { readonly kind: string; readonly message: string } | undefined;
        const given = exception ? { raised: [exception.kind, exception.message] } : got;
        compared++;
        if (!Bun.deepEquals(given, wanted, true))
          throw new Error(
            `row.${name} of\n${text}\nin row ${row} came as ${Bun.inspect(got)}\nPython alone gives ${Bun.inspect(wanted)}\nSVC_TEST_SEED=${seed}`,
          );
      }
    }
  return { compared, skipped };
}

/**
 * Asks for what functions give on rows of parameters, translated and not; throws at the first
 * difference.
 */
async function compare(asked: readonly RandomFunction[], rows: number, columns: Readonly<Record<string, readonly unknown[]>>) {
  const inputs = { "row.id": Array.from({ length: rows }, (_, row) => row), ...columns };
  const outputs = asked.flatMap((one) => one.outputs.map(([name]) => `row.${name}`));
  world.takeCalledRows();
  const here = rowsOf(await world.askBulk(inputs, outputs));
  const left = world.takeCalledRows();
  const python = rowsOf(await world.askBulk(inputs, outputs, { plannerOptions: { disable_translation: "true" } }));
  const all = world.takeCalledRows();
  const raised = new Set([...python].flatMap(([key, { resolver, exception }]) => (exception ? `${resolver}#${key.split("#")[1]}` : [])))
    .size;
  for (const [key, wanted] of python) {
    const got = here.get(key);
    if (Bun.deepEquals(got, wanted, true)) continue;
    const [path, row] = key.split("#") as [string, string];
    const culprit = asked.find((one) => one.outputs.some(([name]) => `row.${name}` === path));
    const values = Object.entries(columns).map(([name, column]) => `${name.slice(4)}=${Bun.inspect(column[Number(row)])}`);
    throw new Error(
      `${path} of\n${culprit?.text}\nwith ${values.join(" ")}\ncame as ${Bun.inspect(got)}\nPython gives ${Bun.inspect(wanted)}\nSVC_TEST_SEED=${seed}`,
    );
  }
  expect(here.size).toBe(python.size);
  const { compared, skipped } = compareWithPlain(asked, python, await plainPython(asked, columns, rows));
  console.log(`Python alone: ${compared} values and exceptions are the same, ${skipped} were not called or are of another type`);
  expect(compared).toBeGreaterThan(skipped);
  return { values: python.size, all, raised, others: left - raised };
}

test("everything that is supported is translated", () => {
  const python = world.graph.resolvers.filter((resolver) => Object.keys(resolver.translated).length === 0).map(({ fqn }) => fqn);
  expect(python.filter((fqn) => fqn.startsWith("rows.g"))).toEqual([]);
  expect(python.length).toBeLessThan(FUNCTIONS * 0.03);
});

test(`${FUNCTIONS} random functions on ${ROWS} random rows give what Python gives`, async () => {
  const columns = Object.fromEntries(
    Object.entries(PARAMETERS).map(([name, kind]) => [
      `row.${name}`,
      Array.from({ length: ROWS }, (_, row) => randomValue(random, kind, row % 2 === 0)),
    ]),
  );
  const { values, all, raised, others } = await compare(functions.slice(0, FUNCTIONS), ROWS, columns);
  console.log(`translated functions: ${values} values; of ${all} calls ${raised} raised and ${others} others ran in Python`);
  expect(raised).toBeLessThan(all * 0.75);
  expect(others).toBeLessThan((all - raised) * 0.35);
});

test("every operation gives what Python gives on every pair of values at the edges", async () => {
  const seconds = ["j", "y", "t", "e"];
  const columns = Object.fromEntries(
    Object.entries(PARAMETERS).map(([name, kind]) => {
      const edges = [...EDGES[kind], null];
      const step = seconds.includes(name) ? edges.length : 1;
      return [`row.${name}`, Array.from({ length: 1_000 }, (_, row) => edges[Math.floor(row / step) % edges.length])];
    }),
  );
  await compare(functions.slice(FUNCTIONS), 1_000, columns);
});
