/**
 * Expressions from Python to values: the analyzer's tree, the rules of the function table at their
 * places in the file, and the evaluator.
 */

import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Graph } from "../../gen/svc/v1/graph_pb.ts";
import { GraphIndex } from "../../src/domain/graph-index.ts";
import { durationToMicros } from "../../src/domain/proto-time.ts";
import type { FeatureValue } from "../../src/domain/value.ts";
import { createToolchain } from "../../src/python/create-toolchain.ts";
import type { PythonToolchain } from "../../src/python/toolchain.ts";
import { compileExpression } from "../../src/server/expressions/compile.ts";
import type { RowColumns } from "../../src/server/expressions/compiled.ts";
import { marked, shown, spanOf } from "../harness/marked.ts";

setDefaultTimeout(300_000);

let folder: string;
let chain: PythonToolchain;
let count = 0;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "svc-expressions-"));
  chain = createToolchain({ home: join(folder, "home"), env: process.env });
});
afterAll(() => rm(folder, { recursive: true, force: true }));

async function analyze(text: string): Promise<Graph> {
  const root = await mkdtemp(join(folder, `project${count++}-`));
  await writeFile(join(root, "features.py"), text);
  return (await chain.analyze({ root, files: ["features.py"] })).graph;
}

const HEAD = `from datetime import date, datetime
from svc.features import DataFrame, FeatureTime, _, features
from svc.streams import Windowed, windowed
import svc.functions as F

@features
class Txn:
    id: int
    user_id: "User.id"
    amount: float
    kind: str | None
    at: FeatureTime

@features
class User:
    id: int
    name: str
    email: str
    total: float
    tax: float | None
    txns: DataFrame[Txn]
`;

test.each([
  ["131 of an annotation", "    x: int = «_.total + _.id»\n", "E131", "the expression of user.x is float, and its annotation is int"],
  ["131 of an argument", "    x: float = 1.0 + «F.sqrt(_.name)»\n", "E131", "sqrt cannot take (str); it takes (float)"],
  [
    "136",
    "    x: float = «_.txns[_.amount].mean()»\n",
    "W136",
    "the expression of user.x may be null (mean() of no rows is), and the feature is not optional",
  ],
  [
    "136 of a feature",
    "    x: float = «_.total - _.tax»\n",
    "W136",
    "the expression of user.x may be null (user.tax may be), and the feature is not optional",
  ],
])("%s", async (_name, line, rule, message) => {
  const source = marked(HEAD + line);
  const finding = shown((await analyze(source.text)).diagnostics).find((candidate) => candidate.rule === rule);
  expect(finding).toMatchObject({ message, at: spanOf("features.py", source) });
});

test("windows of one feature say a finding once", async () => {
  const source = marked(`${HEAD}    x: Windowed[float] = windowed("1d", "7d", expression=«_.txns[_.amount, _.at > _.svc_window].max()»)\n`);
  const findings = shown((await analyze(source.text)).diagnostics).filter(({ rule }) => rule === "W136");
  expect(findings.map(({ at, message }) => `${at} ${message}`)).toEqual([
    `${spanOf("features.py", source)} the expression of user.x may be null (max() of no rows is), and the feature is not optional`,
  ]);
});

test("from Python to values", async () => {
  const graph = await analyze(`${HEAD}
    net: float = _.total - F.coalesce(_.tax, 0.0)
    likeness: float = F.jaccard_similarity(F.lower(_.name), F.lower(_.email))
    n_big: int = _.txns[_.amount > 1000].count()
    n_cards: int = _.txns[(_.kind == "card") | F.is_null(_.kind), _.amount >= 5.0].count()
    size: str = F.when(_.total < 10, "small", _.total < 100, "middle", "large")
    spent: Windowed[float] = windowed("10m", "all", expression=_.txns[_.amount, _.at > _.svc_window, _.at <= _.svc_now].sum())
`);
  expect(shown(graph.diagnostics).filter(({ rule }) => rule.startsWith("E") || rule === "W136")).toEqual([]);
  const index = new GraphIndex(graph);
  const set = index.sets.get("user");
  if (!set) throw new Error("no class user");
  const txns = {
    rows: 4,
    offsets: [0, 3, 4],
    columns: new Map<string, FeatureValue[]>([
      ["amount", [1500, 2, 7, 1000.5]],
      ["kind", ["card", "card", null, "cash"]],
      ["at", ["2024-05-01T11:55:00.000000Z", "2024-05-01T11:50:00.000000Z", "2024-05-01T12:00:00.000000Z", "2024-01-01T00:00:00.000000Z"]],
    ]),
  };
  const rows: RowColumns = {
    rows: 2,
    columns: new Map<string, FeatureValue[]>([
      ["total", [10, 99.5]],
      ["tax", [1.5, null]],
      ["name", ["Abc", "é"]],
      ["email", ["abd", "É"]],
    ]),
    relations: new Map([["txns", txns]]),
  };
  const valuesOf = (name: string) => {
    const feature = set.features.find((candidate) => candidate.name === name);
    if (feature?.kind.case !== "scalar" || !feature.kind.value.expression || !feature.kind.value.dtype)
      throw new Error(`no expression ${name}`);
    const { expression, dtype, window } = feature.kind.value;
    const options = { type: dtype, ...(window && { windowMicros: durationToMicros(window) }) };
    const { values, errors } = compileExpression(expression, { index, set }, options).evaluate(rows, { nowMicros: 1714564800000000n });
    expect([...errors]).toEqual([]);
    return values;
  };
  expect(valuesOf("net")).toEqual([8.5, 99.5]);
  expect(valuesOf("likeness")).toEqual([0.5, 1]);
  expect(valuesOf("n_big")).toEqual([1, 1]);
  expect(valuesOf("n_cards")).toEqual([2, 0]);
  expect(valuesOf("size")).toEqual(["middle", "middle"]);
  expect(valuesOf("spent__600__")).toEqual([1507, 0]);
  expect(set.features.filter(({ name }) => name.startsWith("spent__")).length).toBe(2);
});
