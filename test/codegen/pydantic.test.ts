/** Models of schemas: their Python is run, and takes what protobuf itself writes. */

import { afterAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { create, toJson } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { GraphSchema } from "../../gen/svc/v1/graph_pb.ts";
import { PrimitiveType, VectorPrecision } from "../../gen/svc/v1/value_pb.ts";
import { readArrowSchema } from "../../src/codegen/arrow-schema.ts";
import { readJsonSchema } from "../../src/codegen/json-schema.ts";
import { linkProtoFiles, readProtoFile } from "../../src/codegen/proto-file.ts";
import { generatePydantic } from "../../src/codegen/pydantic.ts";
import { readSchema } from "../../src/codegen/schema-files.ts";
import { lacksPackages, run, TOOLS } from "./tools.ts";

const PROTO = join(import.meta.dir, "../../proto");
const folder = mkdtempSync(join(tmpdir(), "svc-pydantic-"));

afterAll(() => rmSync(folder, { recursive: true, force: true }));

const proto = (text: string) => linkProtoFiles([readProtoFile("a.proto", text)]);
const failure = (work: () => unknown): string => {
  try {
    work();
  } catch (error) {
    return (error as Error).message;
  }
  return "";
};

const SHOP = `syntax = "proto3";
package shop.v1;
import "google/protobuf/timestamp.proto";
import "google/protobuf/duration.proto";
import "google/protobuf/struct.proto";
import "google/protobuf/wrappers.proto";

// What was bought. */ """
message Order {
  // Its number
  int64 order_id = 1;
  Status status = 2;
  repeated Line lines = 3;
  map<string, Line> by_name = 4;
  oneof payer {
    string card = 5 [json_name = "CARD"];
    Person person = 6;
  }
  optional double total = 7;
  google.protobuf.Timestamp at = 8;
  google.protobuf.Duration took = 9;
  google.protobuf.Struct extra = 10;
  google.protobuf.Int64Value gift = 11;
  bytes receipt = 12;
  string class = 13;
  string json = 14;
  bool str = 15;
  string model_name = 16;
  Order parent = 17;
  message Person { string name = 1; reserved 2, 4 to 6; reserved "old"; }
  enum Status { option allow_alias = true; STATUS_NONE = 0; STATUS_PAID = 1; STATUS_DONE = 1; }
}
message Line { repeated double prices = 1 [packed = true, (x).y = { a: 1 }]; }
service Shop { rpc Buy(Order) returns (Line) { option idempotency_level = NO_SIDE_EFFECTS; } }
`;

const SCHEMA = {
  title: "Order line",
  type: "object",
  required: ["id", "class"],
  properties: {
    id: { type: "integer", description: "Number of it" },
    class: { type: "string" },
    date: { type: "string", format: "date" },
    when: { type: ["string", "null"], format: "date-time" },
    lines: { type: "array", items: { $ref: "#/$defs/Line" } },
    meta: { type: "object", additionalProperties: { type: "number" } },
    kind: { enum: ["a", "b c", ""] },
    either: { anyOf: [{ type: "integer" }, { type: "boolean" }, { type: "null" }] },
  },
  $defs: { Line: { type: "object", properties: { next: { $ref: "#/$defs/Line" }, size: { enum: [1, 2] } } } },
};

const USE = `from pathlib import Path
from datetime import date, datetime, timedelta, timezone
import graph, schema, shop

order = shop.Order.model_validate_json('''{
  "orderId": "9007199254740993", "status": "STATUS_PAID", "lines": [{"prices": [1, "NaN"]}], "by_name": {"a": {}}, "CARD": "c",
  "at": "2024-05-01T12:00:00Z", "took": "1.500s", "extra": {"a": [1, null]}, "gift": "5", "receipt": "AP8=", "class": "x", "json": "j", "str": true,
  "modelName": "m", "parent": {"status": 1}, "unknown": 1
}''')
assert order.order_id == 2**53 + 1 and order.status is shop.OrderStatus.STATUS_PAID
assert order.lines[0].prices[0] == 1.0 and order.by_name["a"].prices == []
assert order.card == "c" and order.person is None and order.total is None
assert order.at == datetime(2024, 5, 1, 12, tzinfo=timezone.utc) and order.took == timedelta(seconds=1.5)
assert order.extra == {"a": [1, None]} and order.gift == 5 and order.receipt == b"\\x00\\xff"
assert order.class_ == "x" and order.json_ == "j" and order.str_ is True and order.model_name == "m"
assert order.parent.status is shop.OrderStatus.STATUS_PAID and order.parent.order_id == 0 and order.parent.receipt == b""
assert order.model_dump(by_alias=True)["class"] == "x"

line = schema.OrderLine.model_validate({"id": 1, "class": "x", "date": "2024-05-01", "when": None, "lines": [{"next": {"size": 2}}], "kind": "b c"})
assert line.date_ == date(2024, 5, 1) and line.lines[0].next.size is schema.LineSize.value_2 and line.kind is schema.OrderLineKind.b_c
for bad in ({"class": "x"}, {"id": "x", "class": "x"}, {"id": 1, "class": "x", "kind": "z"}):
    try:
        schema.OrderLine.model_validate(bad)
    except ValueError:
        continue
    raise AssertionError(bad)

read = graph.Graph.model_validate_json(Path("graph.json").read_text())
feature = read.feature_sets[0].features[0]
assert feature.fqn == "user.id" and feature.scalar.dtype.list.vector.precision is graph.VectorPrecision.VECTOR_PRECISION_F32
assert feature.scalar.default_value.bytes_value == b"\\x01\\x02" and feature.scalar.default_value.int64_value is None
assert feature.max_staleness == timedelta(days=3) and feature.scalar.materialization.bucket_start.year == 2024
print("done")
`;

describe.skipIf(lacksPackages("black", "mypy", "pydantic"))("models", () => {
  test("are formatted and typed, and read what protobuf and JSON say", async () => {
    await Bun.write(join(folder, "shop.py"), generatePydantic(proto(SHOP), "a.proto"));
    await Bun.write(join(folder, "schema.py"), generatePydantic(readJsonSchema("s.json", JSON.stringify(SCHEMA), "s"), "s.json"));
    await Bun.write(join(folder, "graph.py"), generatePydantic(await readSchema(join(PROTO, "svc/v1/graph.proto")), "graph.proto"));
    const vector = { size: 3, precision: VectorPrecision.F32 };
    const element = { kind: { case: "primitive", value: PrimitiveType.FLOAT64 } } as const;
    const graph = create(GraphSchema, {
      featureSets: [
        {
          features: [
            {
              fqn: "user.id",
              maxStaleness: { seconds: 259_200n },
              kind: {
                case: "scalar",
                value: {
                  dtype: { kind: { case: "list", value: { element, vector } } },
                  defaultValue: { kind: { case: "bytesValue", value: new Uint8Array([1, 2]) } },
                  materialization: { bucketStart: timestampFromMs(Date.UTC(2024, 0, 1)) },
                },
              },
            },
          ],
        },
      ],
    });
    await Bun.write(join(folder, "graph.json"), JSON.stringify(toJson(GraphSchema, graph)));
    await Bun.write(join(folder, "use.py"), USE);
    const files = ["shop.py", "schema.py"];
    await run(["python3", "-m", "black", "--check", "--quiet", ...files, "graph.py"], { cwd: folder });
    await run(["python3", "-m", "mypy", "--strict", ...files], { cwd: folder });
    await run([TOOLS.pyright, ...files], { cwd: folder });
    expect(await run(["python3", "-W", "error", "use.py"], { cwd: folder })).toBe("done\n");
  });
});

const ARROW = `import pyarrow as pa
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal

place = pa.struct([pa.field("street", pa.string(), nullable=False), ("floor", pa.int8())])
schema = pa.schema([
    pa.field("order_id", pa.int64(), nullable=False), ("small", pa.uint16()), ("ratio", pa.float32()), ("class", pa.large_string()), ("new", pa.bool_()),
    ("raw", pa.binary()), ("fixed", pa.binary(2)), ("view", pa.string_view()), ("price", pa.decimal128(10, 2)), ("day", pa.date32()), ("hour", pa.time64("us")),
    ("at", pa.timestamp("us", "UTC")), ("took", pa.duration("ms")), ("kind", pa.dictionary(pa.int32(), pa.string())), ("nothing", pa.null()),
    ("home", place), ("places", pa.list_(pa.field("item", place, nullable=False))), ("pair", pa.list_(pa.float64(), 2)),
    ("deep", pa.large_list(pa.list_(pa.struct([("place", place)])))), ("by_name", pa.map_(pa.string(), place)), ("two words", pa.int64()),
])
at = datetime(2024, 5, 1, 12, tzinfo=timezone.utc)
home = {"street": "a", "floor": 1}
row = dict(order_id=2**62, small=1, ratio=0.5, raw=b"\\xff", fixed=b"ab", view="v", price=Decimal("1.50"), day=date(2024, 2, 29), hour=time(1, 2), at=at,
           took=timedelta(seconds=1), kind="s", nothing=None, home=home, places=[home], pair=[1.0, 2.0], deep=[[{"place": home}, None], None], by_name={"x": home, "y": None},
           new=True, **{"class": "c", "two words": 3})
rows = [row, {"order_id": 1}]
table = pa.Table.from_pylist([{**row, "by_name": list(row["by_name"].items())}, rows[1]], schema)
with pa.ipc.new_file("order.arrow", schema) as file:
    file.write_table(table)
with pa.ipc.new_stream("stream.arrows", schema) as stream:
    stream.write_table(table)
`;

const USE_ARROW = `import pyarrow as pa
import order, stream
from order import Order, OrderHome

table = pa.ipc.open_file("order.arrow").read_all()
rows = table.to_batches()[0].to_pylist(maps_as_pydicts="strict")
read = [Order.model_validate(row) for row in rows]
assert [one.model_dump(by_alias=True) for one in read] == rows, read
assert read[0].home == OrderHome(street="a", floor=1) and read[0].by_name["x"].street == "a" and read[0].by_name["y"] is None
assert read[0].deep[0][0].place.floor == 1 and read[1].order_id == 1 and read[1].home is None
for bad in ({}, {"order_id": None}, {"order_id": 1, "home": {}}, {"order_id": 1, "places": [None]}):
    try:
        Order.model_validate(bad)
    except ValueError:
        continue
    raise AssertionError(bad)
print("done")
`;

describe.skipIf(lacksPackages("black", "mypy", "pydantic", "pyarrow"))("a table of Arrow", () => {
  test("has models that take its rows", async () => {
    await Bun.write(join(folder, "arrow_table.py"), ARROW);
    await run(["python3", "arrow_table.py"], { cwd: folder });
    for (const name of ["order.arrow", "stream.arrows"])
      await Bun.write(join(folder, name.replace(/\.\w+$/, ".py")), generatePydantic(await readSchema(join(folder, name)), name));
    await Bun.write(join(folder, "use_arrow.py"), USE_ARROW);
    const files = ["order.py", "stream.py"];
    await run(["python3", "-m", "black", "--check", "--quiet", ...files], { cwd: folder });
    await run(["python3", "-m", "mypy", "--strict", ...files], { cwd: folder });
    expect(await run(["python3", "-W", "error", "use_arrow.py"], { cwd: folder })).toBe("done\n");
  }, 300_000);

  test("is read by its beginning alone, and refused when that is broken", async () => {
    const whole = await Bun.file(join(folder, "order.arrow")).bytes();
    const words = (bytes: Uint8Array) => failure(() => readArrowSchema("order.arrow", bytes, "order"));
    for (let length = 0; length < 64; length++)
      expect(words(whole.subarray(0, length))).toStartWith("order.arrow: it is no whole table of Arrow");
    for (let at = 0; at < 4096; at += 3) {
      const broken = new Uint8Array(whole.subarray(0, 4096));
      broken[at] = (broken[at] ?? 0) ^ 0xff;
      const said = words(broken);
      if (said !== "") expect(said).toStartWith("order.arrow: ");
    }
    expect(words(new TextEncoder().encode("FEA1 and more"))).toContain("version 1 of Feather");
    await Bun.write(join(folder, "large.arrow"), [whole.slice(0, 4096), new Uint8Array(9 * 1024 * 1024)]);
    expect((await readSchema(join(folder, "large.arrow"))).map(({ name }) => name)).toContain("Large");
  });
});

describe("a .proto file", () => {
  test("every one here is read", async () => {
    expect((await readSchema(PROTO)).length).toBeGreaterThan(500);
  });

  test("of proto2 has required fields, groups and extensions", () => {
    const definitions = proto(`
      message A { required int32 a = 1; optional B b = 2; repeated group Part = 3 { optional string s = 1; } extensions 100 to max; }
      message B { option deprecated = true; extend A { optional int32 more = 100; } }
      extend A { optional string other = 101; }`);
    expect(definitions.map(({ name }) => name)).toEqual(["A", "A.Part", "B"]);
    const fields = definitions[0]?.kind === "message" ? definitions[0].fields : [];
    expect(fields.map(({ name, presence }) => [name, presence])).toEqual([
      ["a", "required"],
      ["b", "optional"],
      ["part", "zero"],
    ]);
  });

  test("names the nearest definition", () => {
    const definitions = proto(
      'syntax = "proto3"; package p; message X {} message A { X outer = 1; message B { X inner = 1; p.X full = 2; .p.X absolute = 3; } message X {} }',
    );
    const types = definitions.flatMap((one) =>
      one.kind === "message" ? one.fields.map(({ name, type }) => [name, type.kind === "named" ? type.name : ""]) : [],
    );
    expect(types).toEqual([
      ["outer", "p.A.X"],
      ["inner", "p.A.X"],
      ["full", "p.X"],
      ["absolute", "p.X"],
    ]);
  });

  test.each([
    ["message A { int32 a = 1 }", "a.proto:1: expected ';', got '}'"],
    ["message A {\n  X a = 1;\n}", "a.proto: A.a has the type X, which no file here defines"],
    ["message A {", "a.proto:1: the file ends in the middle of a definition"],
    ["massage A {}", "a.proto:1: expected message, enum, service, import, package or option, got 'massage'"],
    ["enum E { A = x; }", "a.proto:1: the value of A is a whole number, not 'x'"],
    ["message A {}\nmessage A {}", "a.proto: A is defined in a.proto too"],
    ["message A { ? }", "a.proto:1: '?' is not expected here"],
  ])("%j is refused", (text, message) => {
    expect(failure(() => proto(text))).toBe(message);
  });
});

test.each([
  ["[]", "s.json: a JSON Schema is an object"],
  ["{", expect.stringContaining("s.json: ")],
  ["{}", "s.json: it defines no object: it has neither properties nor $defs"],
  ['{"properties":{"a":{"$ref":"#/$defs/B"}}}', "s.json: it refers to #/$defs/B, which it does not have"],
  ['{"properties":{"a":{"$ref":"other.json"}}}', "s.json: it refers to other.json, which is another document"],
] as const)("the schema %j is refused", (text, message) => {
  expect(failure(() => readJsonSchema("s.json", text, "s"))).toEqual(message as string);
});
