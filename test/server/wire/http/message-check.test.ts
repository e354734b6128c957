import { describe, expect, test } from "bun:test";
import { create, type DescMessage, fromBinary, toBinary } from "@bufbuild/protobuf";
import fc from "fast-check";
import { CreateDeploymentRequestSchema, ValidateGraphRequestSchema } from "../../../../gen/svc/v1/deployment_pb.ts";
import { QueryBulkRequestSchema, QueryRequestSchema } from "../../../../gen/svc/v1/query_pb.ts";
import { type Value, ValueSchema } from "../../../../gen/svc/v1/value_pb.ts";
import { checkMessage, MessageRefused } from "../../../../src/server/wire/http/message-check.ts";
import { seeded } from "../../../harness/seed.ts";

function refusalOf(type: DescMessage, bytes: readonly number[] | Uint8Array, maxFields?: number): string {
  try {
    checkMessage(type, new Uint8Array(bytes), maxFields);
    return "taken";
  } catch (error) {
    if (error instanceof MessageRefused) return error.message.replace("the message cannot be read: ", "");
    throw error;
  }
}

const QUERY = toBinary(
  QueryRequestSchema,
  create(QueryRequestSchema, {
    inputs: [
      { feature: "user.id", value: { case: "typed", value: { kind: { case: "int64Value", value: -5n } } } },
      { feature: "user.näme", value: { case: "text", value: "ü" } },
    ],
    outputs: ["user.name"],
    staleness: { "user.name": { seconds: 5n, nanos: 1 } },
    queryContext: { a: { kind: { case: "doubleValue", value: 1.5 } } },
    now: { seconds: 1n },
    explain: true,
  }),
);

test.each([
  ["a field number of 0", [0x00, 0x00], "there is no such field number (byte 0)"],
  ["a cut length", [0x0a], "it ends in the middle of a value (byte 1)"],
  ["a length beyond the end", [0x0a, 0x05, 0x01], "it ends in the middle of a value (byte 2)"],
  ["an endless number", [0x58, ...new Array<number>(11).fill(0x80)], "a number has more than 10 bytes (byte 11)"],
  ["another wire type", [0x08, 0x01], "field 1 of svc.v1.QueryRequest has wire type 0, not 2 (byte 1)"],
  ["text that is not UTF-8", [0x12, 0x01, 0xff], "field 2 of svc.v1.QueryRequest is text that is not UTF-8 (byte 2)"],
  ["a group", [0xfb, 0x01, 0xfc, 0x01], "there is no wire type 3 here (byte 2)"],
  ["a wire type that there is not", [0xff, 0x01], "there is no wire type 7 here (byte 2)"],
])("refuses %s, and says where", (_, bytes, message) => {
  expect(refusalOf(QueryRequestSchema, bytes)).toBe(message);
});

test("takes unknown fields, up to the number of fields that there may be", () => {
  expect(refusalOf(QueryRequestSchema, [...QUERY, 0xf8, 0x01, 0x01, 0xfa, 0x01, 0x02, 0x00, 0x00])).toBe("taken");
  const hostile = new Uint8Array(2_000_002).fill(0x78);
  expect(refusalOf(QueryBulkRequestSchema, hostile)).toBe("it has more than 1000000 fields; send it in parts (byte 2000001)");
  expect(
    refusalOf(
      QueryRequestSchema,
      new Uint8Array(8).fill(0x0a).map((byte, at) => (at % 2 === 0 ? byte : 0)),
      3,
    ),
  ).toContain("more than 3");
});

test("refuses messages that lie too deep in one another, as the decoder does", () => {
  let value: Value = create(ValueSchema, { kind: { case: "boolValue", value: true } });
  const nest = (times: number) => {
    for (let i = 0; i < times; i++) value = create(ValueSchema, { kind: { case: "listValue", value: { values: [value] } } });
    return toBinary(ValueSchema, value);
  };
  const fits = nest(49);
  expect(refusalOf(ValueSchema, fits)).toBe("taken");
  expect(fromBinary(ValueSchema, fits).kind.case).toBe("listValue");
  const deep = nest(1);
  expect(refusalOf(ValueSchema, deep)).toContain("more than 100 deep");
  expect(() => fromBinary(ValueSchema, deep)).toThrow("recursion");
});

describe("whatever passes can be decoded, and a message that was encoded passes", () => {
  test.each([QueryRequestSchema, QueryBulkRequestSchema, ValidateGraphRequestSchema, CreateDeploymentRequestSchema, ValueSchema])(
    "%s",
    (type) => {
      const tags = fc.constantFrom(
        ...type.fields.flatMap(({ number }) => [0, 1, 2, 5].map((wire) => (number << 3) | wire)).filter((tag) => tag < 128),
      );
      const random = fc
        .array(
          fc.oneof(
            fc.uint8Array({ maxLength: 8 }),
            tags.map((tag) => new Uint8Array([tag])),
            fc.constant(new Uint8Array([2, 0x0a, 0])),
          ),
          {
            maxLength: 12,
          },
        )
        .map((parts) => new Uint8Array(parts.flatMap((part) => [...part])));
      const changed = fc
        .tuple(fc.nat(QUERY.length - 1), fc.integer({ min: 0, max: 255 }), fc.nat(QUERY.length))
        .map(([at, byte, length]) => QUERY.with(at, byte).slice(0, length));
      let taken = 0;
      fc.assert(
        fc.property(fc.oneof(random, changed), (bytes) => {
          if (refusalOf(type, bytes) !== "taken") return;
          taken++;
          expect(refusalOf(type, toBinary(type, fromBinary(type, bytes)))).toBe("taken");
        }),
        seeded(3_000),
      );
      expect(taken).toBeGreaterThan(20);
    },
  );
});
