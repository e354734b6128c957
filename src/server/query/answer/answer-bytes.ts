/**
 * Direct encoding of an answer to the bytes of its message. Message objects for every field and
 * value would cost several times as much as the rest of a query.
 */

import { toBinary } from "@bufbuild/protobuf";
import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import { TimestampSchema } from "@bufbuild/protobuf/wkt";
import { FeatureResultSchema, QueryMetaSchema, QueryResponseSchema } from "../../../../gen/svc/v1/query_pb.ts";
import { type DataType, PrimitiveType, ValueSchema } from "../../../../gen/svc/v1/value_pb.ts";
import { msToTimestamp } from "../../../domain/proto-time.ts";
import { toProtoValue } from "../../../domain/proto-value.ts";
import type { FeatureValue } from "../../../domain/value.ts";
import { type Answer, type AnswerField, answerToProto, answerWarnings, typedOutputs } from "./answer.ts";

const DATA = QueryResponseSchema.field.data.number;
const META = QueryResponseSchema.field.meta.number;
const WARNINGS = QueryMetaSchema.field.warnings.number;
const TYPES = QueryMetaSchema.field.types.number;
/** Field numbers of a map's entry, fixed by the wire format. */
const MAP_KEY = 1;
const MAP_VALUE = 2;
const RESULT = FeatureResultSchema.field;
const STRING = numberOf("string_value");
const DOUBLE = numberOf("double_value");
const INT64 = numberOf("int64_value");
const BYTES = WireType.LengthDelimited;
/** Size of an answer above which its writer is not kept, in bytes. */
const KEPT_BYTES = 1024 * 1024;

/** The writer of the last answer, whose memory is large enough for most others. */
let kept: BinaryWriter | undefined;

function numberOf(name: string): number {
  const field = ValueSchema.fields.find((one) => one.name === name);
  if (!field) throw new Error(`a value has no field ${name}`);
  return field.number;
}

/** The bytes of `answerToProto` with the same arguments. */
export function answerToBinary(answer: Answer, includeMeta: boolean, url: string): Uint8Array<ArrayBuffer> {
  if (includeMeta || answer.failures.length > 0) return toBinary(QueryResponseSchema, answerToProto(answer, includeMeta, url));
  const writer = kept ?? new BinaryWriter();
  kept = undefined;
  const times = remembered((ms: number) => toBinary(TimestampSchema, msToTimestamp(ms)));
  const keys = remembered(({ feature, value }: NonNullable<AnswerField["key"]>) =>
    toBinary(ValueSchema, toProtoValue(value, feature.dtype)),
  );
  const paths = pathsBytes(answer);
  for (let index = 0; index < answer.fields.length; index++) {
    const { value, feature, key, observedAt } = answer.fields[index] as AnswerField;
    writer.tag(DATA, BYTES).fork();
    writer
      .raw(paths[index] as Uint8Array)
      .tag(RESULT.value.number, BYTES)
      .fork();
    writeValue(writer, value, feature.dtype);
    writer.join();
    if (key) writer.tag(RESULT.pkey.number, BYTES).bytes(keys(key));
    if (observedAt !== undefined) writer.tag(RESULT.ts.number, BYTES).bytes(times(observedAt));
    writer.join();
  }
  writer.raw(toBinary(QueryResponseSchema, answerToProto({ ...answer, fields: [] }, false, url)));
  writer.raw(typesBytes(answer));
  const bytes = writer.finish();
  if (bytes.length <= KEPT_BYTES) kept = writer;
  return bytes;
}

/** The names of the fields, each with its tag. */
function pathsBytes({ shared, fields }: Answer): readonly Uint8Array[] {
  shared.pathsBytes ??= encodedPaths(fields);
  return shared.pathsBytes;
}

/** The types and warnings, as a second `meta`: readers merge the two. */
function typesBytes({ shared, fields }: Answer): Uint8Array {
  shared.typesBytes ??= encodedTypes(fields);
  return shared.typesBytes;
}

function encodedPaths(fields: readonly AnswerField[]): Uint8Array[] {
  const writer = new BinaryWriter();
  return fields.map(({ path }) => writer.tag(RESULT.field.number, BYTES).string(path).finish());
}

function encodedTypes(fields: readonly AnswerField[]): Uint8Array {
  const writer = new BinaryWriter();
  writer.tag(META, BYTES).fork();
  for (const { path, feature } of typedOutputs(fields))
    writer.tag(TYPES, BYTES).fork().tag(MAP_KEY, BYTES).string(path).tag(MAP_VALUE, BYTES).bytes(feature.answerType.bytes).join();
  for (const warning of answerWarnings(fields)) writer.tag(WARNINGS, BYTES).string(warning);
  return writer.join().finish();
}

function writeValue(writer: BinaryWriter, value: FeatureValue, type: DataType): void {
  const primitive = type.kind.case === "primitive" ? type.kind.value : undefined;
  if (primitive === PrimitiveType.STRING && typeof value === "string") writer.tag(STRING, BYTES).string(value);
  else if (primitive === PrimitiveType.FLOAT64 && typeof value === "number") writer.tag(DOUBLE, WireType.Bit64).double(value);
  else if (primitive === PrimitiveType.INT64 && typeof value === "number") writer.tag(INT64, WireType.Varint).int64(value);
  else writer.raw(toBinary(ValueSchema, toProtoValue(value, type)));
}

/**
 * A function that remembers its last result: the fields of a row share their key, and often their
 * time.
 */
function remembered<A, B>(make: (given: A) => B): (given: A) => B {
  let last: { readonly given: A; readonly made: B } | undefined;
  return (given) => {
    if (last?.given !== given) last = { given, made: make(given) };
    return last.made;
  };
}
