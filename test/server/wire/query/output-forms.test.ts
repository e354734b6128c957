/**
 * Types and forms of outputs in the answers of every endpoint, and rows of relations in columns, in
 * inputs and outputs.
 */

import { expect, test } from "bun:test";
import { create, fromBinary } from "@bufbuild/protobuf";
import fc from "fast-check";
import { QueryResponseSchema } from "../../../../gen/svc/v1/query_pb.ts";
import { type DataType, DataTypeSchema } from "../../../../gen/svc/v1/value_pb.ts";
import { typeToJson } from "../../../../src/domain/output-json.ts";
import { toProtoValue } from "../../../../src/domain/proto-value.ts";
import { answerToBinary } from "../../../../src/server/query/answer/answer-bytes.ts";
import { bulkAnswerToProto } from "../../../../src/server/query/bulk.ts";
import { bulkColumn } from "../../../../src/server/query/request/request.ts";
import { seeded } from "../../../harness/seed.ts";
import { agg, featureClass, graph, primitive, python } from "../../query/graphs.ts";
import { ask, World } from "../../query/worlds.ts";
import { type JsonEndpoint, jsonEndpoints } from "./json-endpoints.ts";

const point = create(DataTypeSchema, {
  kind: {
    case: "struct",
    value: {
      name: "Point",
      fields: [
        { name: "x", dtype: primitive("int") },
        { name: "seen", dtype: primitive("datetime"), nullable: true },
      ],
    },
  },
});
const level = create(DataTypeSchema, {
  kind: {
    case: "enum",
    value: {
      name: "Level",
      base: primitive("int").kind.value as number,
      members: [{ name: "LOW", value: toProtoValue(1, primitive("int")) }],
    },
  },
});
const setOf = (element: DataType) => create(DataTypeSchema, { kind: { case: "list", value: { element, set: true } } });

const made = graph(
  [
    featureClass("order", { id: "int", user_id: "int", price: "float", at: "datetime", level, point, unknown: "str" }),
    featureClass("user", {
      id: "int",
      name: "str?",
      born: "date",
      span: "timedelta",
      paid: "decimal",
      photo: "bytes",
      extra: "json",
      good: "bool",
      level,
      levels: setOf(level),
      point,
      orders: { many: "order", on: [["id", "user_id"]] },
      spend__600__: { type: "float", window: "600s", expression: agg("sum", "orders", "price") },
    }),
  ],
  [
    python("m.user", ["user.id"], ["user.name", "user.born", "user.span", "user.paid", "user.photo", "user.extra", "user.good"]),
    python("m.rest", ["user.id"], ["user.level", "user.levels", "user.point"]),
    python("m.orders", ["user.id"], ["order.id", "order.user_id", "order.price", "order.at", "order.level", "order.point"], {
      relation: "user.orders",
    }),
  ],
);
const AT = "2024-05-01T12:00:00.000000Z";
const world = new World(made, {
  python: {
    "m.user": () => ({
      "user.name": null,
      "user.born": "2000-01-01",
      "user.span": 1,
      "user.paid": "1.5",
      "user.photo": new Uint8Array([1]),
      "user.extra": { a: 2n ** 60n },
      "user.good": true,
    }),
    "m.rest": () => ({ "user.level": 1, "user.levels": [1], "user.point": { x: 2n ** 60n, seen: null } }),
    "m.orders": ([id]) =>
      Array.from({ length: Number(id) }, (_, at) => ({
        "order.id": at,
        "order.user_id": id ?? null,
        "order.price": at / 2,
        "order.at": AT,
        "order.level": 1,
        "order.point": { x: at, seen: AT },
      })),
  },
});
const send = jsonEndpoints(world);

interface Said {
  readonly data: never;
  readonly errors?: readonly { readonly message: string }[];
  readonly meta: { readonly types: Readonly<Record<string, unknown>> };
}

async function post(endpoint: JsonEndpoint, body: object): Promise<Said> {
  return JSON.parse((await send(endpoint, JSON.stringify(body))).text) as Said;
}

const POINT = {
  type: "struct",
  fields: [
    { name: "x", type: "int64" },
    { name: "seen", type: "timestamp" },
  ],
};
const TYPES = {
  "user.id": "int64",
  "user.name": "string",
  "user.born": "date",
  "user.span": "duration",
  "user.paid": "decimal",
  "user.photo": "bytes",
  "user.extra": "json",
  "user.good": "bool",
  "user.level": "int64",
  "user.levels": { type: "set", items: "int64" },
  "user.point": POINT,
  "user.spend__600__": "float64",
  "user.orders.price": { type: "list", items: "float64" },
  "user.orders.point": { type: "list", items: POINT },
  "user.orders": {
    type: "list",
    items: {
      type: "struct",
      fields: [
        { name: "id", type: "int64" },
        { name: "user_id", type: "int64" },
        { name: "price", type: "float64" },
        { name: "at", type: "timestamp" },
        { name: "level", type: "int64" },
        { name: "point", type: POINT },
      ],
    },
  },
};
const OUTPUTS = Object.keys(TYPES);

test("every answer has the type of every output, the same through every endpoint", async () => {
  expect((await post("online", { inputs: { "user.id": 2 }, outputs: OUTPUTS })).meta.types).toEqual(TYPES);
  expect((await post("bulk", { inputs: { "user.id": [2, 0] }, outputs: OUTPUTS })).meta.types).toEqual(TYPES);
  const answer = await world.ask({ "user.id": 2 }, OUTPUTS);
  const bulk = await world.engine.answerBulk(
    world.deployment,
    { request: ask({}, OUTPUTS), columns: [bulkColumn("user.id", [2])] },
    world.now,
  );
  for (const told of [
    fromBinary(QueryResponseSchema, answerToBinary(answer, false, "")),
    fromBinary(QueryResponseSchema, answerToBinary(answer, true, "")),
    bulkAnswerToProto(bulk),
  ]) {
    const types = told.meta?.types ?? {};
    expect(Object.fromEntries(Object.entries(types).map(([path, type]) => [path, typeToJson(type)]))).toEqual(TYPES);
    expect(JSON.stringify(types)).not.toContain("LOW");
  }
});

test("rows that are all refused have types too, but for relations whose rows were then not looked for", async () => {
  const refused = await post("bulk", { inputs: { "user.id": ["x"] }, outputs: ["user.name", "user.orders.price"] });
  expect(refused.meta.types).toEqual({ "user.name": "string", "user.orders.price": { type: "list", items: "float64" } });
  const whole = await post("bulk", {
    inputs: { "user.id": [1], "user.orders": [5] },
    outputs: ["user.name", "user.orders", "user.orders.price"],
  });
  expect(whole.meta.types).toEqual({ "user.name": "string" });
});

const OPTIONS = { encode_structs_as_objects: false };

test("rows whose structs are lists keep the names of their columns, alone and in bulk", async () => {
  const outputs = ["user.orders", "user.orders.point", "user.point"];
  const orders = {
    columns: ["id", "user_id", "price", "at", "level", "point"],
    values: [
      [0, 1],
      [2, 2],
      [0, 0.5],
      ["2024-05-01T12:00:00.000000Z", "2024-05-01T12:00:00.000000Z"],
      [1, 1],
      [
        [0, "2024-05-01T12:00:00.000000Z"],
        [1, "2024-05-01T12:00:00.000000Z"],
      ],
    ],
  };
  const points = orders.values[5];
  const single = await post("online", { inputs: { "user.id": 2 }, outputs, encoding_options: OPTIONS });
  expect(single.data as unknown).toMatchObject([{ value: orders }, { value: points }, { value: ["1152921504606846976", null] }]);
  const bulk = await post("bulk", { inputs: { "user.id": [2, 0] }, outputs, encoding_options: OPTIONS });
  const empty = { columns: orders.columns, values: [[], [], [], [], [], []] };
  expect(bulk.data as unknown).toEqual({
    "user.orders": [orders, empty],
    "user.orders.point": [points, []],
    "user.point": [
      ["1152921504606846976", null],
      ["1152921504606846976", null],
    ],
  });
});

test("rows by columns are the rows that they would be one by one", async () => {
  const row = fc.record({ id: fc.integer(), price: fc.double({ noNaN: true, noDefaultInfinity: true }), level: fc.constant(1) });
  await fc.assert(
    fc.asyncProperty(
      fc.array(row, { maxLength: 5 }),
      fc.subarray(["id", "price", "level"] as const, { minLength: 1 }),
      async (rows, names) => {
        const outputs = ["user.spend__600__", "user.orders"];
        const of = (orders: unknown) => post("online", { inputs: { "user.id": 1, "user.orders": orders }, outputs });
        const columns = { columns: names, values: names.map((name) => rows.map((one) => one[name])) };
        const [byColumns, oneByOne] = await Promise.all([
          of(columns),
          of(rows.map((one) => Object.fromEntries(names.map((name) => [name, one[name]])))),
        ]);
        expect([byColumns.data, byColumns.errors]).toEqual([oneByOne.data, oneByOne.errors] as never);
      },
    ),
    seeded(60),
  );
});

test.each([
  [{ columns: ["id"], values: [] }, "user.orders: expected a list of values for each column, got 0 for 1 columns"],
  [{ columns: ["id", "id"], values: [[1], [2]] }, "user.orders: column 'id' is given twice"],
  [{ columns: ["id", "price"], values: [[1], [2, 3]] }, "user.orders: column 'price' has 2 values, and 'id' has 1"],
  [{ columns: [5], values: [[1]] }, "user.orders: columns[0]: expected a name, got int 5"],
  [{ columns: ["id"], values: [5] }, "user.orders: values[0]: expected a list, got int 5"],
  [{ columns: ["prize"], values: [[5]] }, "unknown feature 'user.orders.prize' in the inputs; did you mean 'price'?"],
  [{ columns: ["__proto__"], values: [[5]] }, "unknown feature 'user.orders.__proto__' in the inputs"],
  [
    { columns: ["id"], values: [[1]], rows: 1 },
    'user.orders: expected a list of rows of Order, or {"columns": [names], "values": [a list for each column]}, got struct {"columns": list of 1, "values": list of 1, "rows": 1}',
  ],
])("columns that are none are refused: %j", async (given, message) => {
  const said = await post("online", { inputs: { "user.id": 1, "user.orders": given }, outputs: ["user.orders"] });
  expect(said.errors?.map((error) => error.message)).toEqual([message]);
});
