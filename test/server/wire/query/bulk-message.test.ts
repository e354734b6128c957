import { expect, test } from "bun:test";
import { create, fromBinary, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import fc from "fast-check";
import { QueryBulkRequestSchema, type QueryInputSchema, QueryRequestSchema } from "../../../../gen/svc/v1/query_pb.ts";
import { timestampToMicros } from "../../../../src/domain/proto-time.ts";
import { type BulkInput, bulkColumnsFromProto } from "../../../../src/server/query/request/request.ts";
import { readBulkMessage } from "../../../../src/server/wire/query/bulk-message.ts";
import { seeded } from "../../../harness/seed.ts";

const value: fc.Arbitrary<MessageInitShape<typeof QueryInputSchema>> = fc
  .oneof(
    fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }).map((int64Value) => ({ case: "int64Value" as const, value: int64Value })),
    fc.string().map((text) => ({ case: "stringValue" as const, value: text })),
    fc.array(fc.double()).map((values) => ({
      case: "listValue" as const,
      value: { values: values.map((one) => ({ kind: { case: "doubleValue" as const, value: one } })) },
    })),
  )
  .map((kind) => ({ value: { case: "typed" as const, value: { kind } } }));
const input = fc.oneof(
  value,
  fc.string().map((text) => ({ feature: "ignored", value: { case: "text" as const, value: text } })),
  fc.string().map((raw) => ({ value: { case: "raw" as const, value: raw } })),
  fc.constant({}),
);

const contents = (columns: readonly BulkInput[]) =>
  columns.map((column) => [
    column.name,
    column.length,
    Array.from({ length: column.length + 1 }, (_, row) => column.length > 0 && row < column.length && column.at(row)),
  ]);

test("a message read as its rows are asked for is the message decoded", async () => {
  const message = fc.record({
    query: fc.option(fc.record({ outputs: fc.array(fc.string()), explain: fc.boolean() }), { nil: undefined }),
    inputs: fc.array(fc.record({ feature: fc.string(), values: fc.array(input) })),
    now: fc.array(fc.record({ seconds: fc.bigInt(-62_135_596_800n, 253_402_300_799n), nanos: fc.integer({ min: 0, max: 999_999_999 }) })),
  });
  await fc.assert(
    fc.asyncProperty(message, message, async (first, second) => {
      const encode = ({ query, inputs, now }: typeof first) =>
        toBinary(QueryBulkRequestSchema, create(QueryBulkRequestSchema, { inputs, now, ...(query ? { query } : {}) }));
      const bytes = new Uint8Array([...encode(first), ...encode(second)]);
      const whole = fromBinary(QueryBulkRequestSchema, bytes);
      const read = await readBulkMessage(bytes);
      expect(read.now).toEqual(whole.now.map(timestampToMicros));
      expect(contents(read.columns)).toEqual(contents(bulkColumnsFromProto(whole)));
      expect(read.query && toBinary(QueryRequestSchema, read.query)).toEqual(whole.query && toBinary(QueryRequestSchema, whole.query));
    }),
    seeded(100),
  );
});

test("a column of one value has it for every row", async () => {
  const bytes = toBinary(
    QueryBulkRequestSchema,
    create(QueryBulkRequestSchema, { inputs: [{ feature: "user.id", values: [{ value: { case: "text", value: "7" } }] }] }),
  );
  const [column] = (await readBulkMessage(bytes)).columns;
  expect([column?.length, column?.at(0), column?.at(9_999)]).toEqual([
    1,
    { name: "user.id", form: "text", value: "7" },
    { name: "user.id", form: "text", value: "7" },
  ]);
});

test("a column of fields that are no values is refused, and others have their turn until then", async () => {
  const fields = (bytes: number, field: number) => Uint8Array.from({ length: bytes }, (_, at) => (at % 2 === 0 ? (field << 3) | 2 : 0));
  const columns = (bytes: number, field: number) => {
    const column = fields(bytes, field);
    return new BinaryWriter().tag(2, WireType.LengthDelimited).bytes(column).tag(2, WireType.LengthDelimited).bytes(column).finish();
  };
  for (const field of [1, 2, 3]) {
    let turns = 0;
    const ticking = setInterval(() => turns++, 0);
    const refused = await readBulkMessage(columns(6_000_000, field)).catch((error: unknown) => String(error));
    clearInterval(ticking);
    expect(refused).toMatch(/its columns have more than 4000000 fields|a column has more than 1000000 values/);
    expect(turns).toBeGreaterThan(10);
  }
  const { columns: read } = await readBulkMessage(columns(2_000, 1));
  expect(contents(read)).toEqual([
    ["", 0, [false]],
    ["", 0, [false]],
  ]);
});

test("times are as many as a column's values may be, and others have their turn while they are read", async () => {
  const times = (count: number) => Uint8Array.from({ length: 2 * count }, (_, at) => (at % 2 === 0 ? (3 << 3) | 2 : 0));
  let turns = 0;
  const ticking = setInterval(() => turns++, 0);
  expect((await readBulkMessage(times(1_000_000))).now).toHaveLength(1_000_000);
  clearInterval(ticking);
  expect(turns).toBeGreaterThan(10);
  await expect(readBulkMessage(times(1_000_001))).rejects.toThrow("it has more than 1000000 times; send it in parts");
  await expect(readBulkMessage(new Uint8Array([(3 << 3) | 2, 1, 0xff]))).rejects.toThrow(/byte/);
});
