/** Tables as streams of Arrow's IPC format. */

import { type DataType, PrimitiveType } from "../../../gen/svc/v1/value_pb.ts";
import { CONTINUATION, DAY_MS, DAY_UNIT, Header, MICROSECONDS, PRECISIONS, padded, Type, VERSION } from "../../domain/arrow/format.ts";
import { parseInstant } from "../../domain/timestamp.ts";
import { type FeatureValue, primitiveOf, toPlainJson } from "../../domain/value.ts";
import { FlatBuilder, type FlatField, type Place } from "./flat-builder.ts";

/** A column; undefined is null. */
export interface ArrowColumn {
  readonly name: string;
  readonly type: DataType;
  readonly values: readonly (FeatureValue | undefined)[];
}

/**
 * A table as a stream: its schema, one batch, and the end. Decimals and JSON are text; relations
 * are lists of structs; vectors of a known size are fixed-size lists.
 * @param metadata texts that the schema carries
 */
export function arrowStream(
  columns: readonly ArrowColumn[],
  rows: number,
  metadata: Readonly<Record<string, string>>,
): Uint8Array<ArrayBuffer> {
  const { schema, records, end } = messagesOf(columns, rows, metadata);
  return Buffer.concat([schema, records.head, ...records.body, end]) as Uint8Array<ArrayBuffer>;
}

/** The messages of a table: its schema, one batch, and the end. */
export function messagesOf(columns: readonly ArrowColumn[], rows: number, metadata: Readonly<Record<string, string>>) {
  const schema = new FlatBuilder();
  const head = schemaIn(schema, columns, metadata);
  const batch = new Batch();
  for (const { type, values } of columns) batch.add(type, values);
  const records = new FlatBuilder();
  const nodes = records.structs(batch.nodes);
  const buffers = records.structs(batch.extents);
  const body = records.table([{ size: 8, value: BigInt(rows) }, place(nodes), place(buffers)]);
  const end = new Uint8Array(8);
  new DataView(end.buffer).setUint32(0, CONTINUATION, true);
  return {
    schema: message(schema, Header.SCHEMA, head, 0),
    records: { head: message(records, Header.RECORDS, body, batch.length), body: batch.buffers, bodyLength: batch.length },
    end,
  };
}

/** The schema of a table. */
export function schemaIn(builder: FlatBuilder, columns: readonly ArrowColumn[], metadata: Readonly<Record<string, string>>): Place {
  const fields = builder.places(columns.map(({ name, type }) => fieldOf(builder, name, type)));
  const pairs = Object.entries(metadata).map(([key, value]) => builder.table([place(builder.text(key)), place(builder.text(value))]));
  return builder.table([{ size: 2, value: 0 }, place(fields), place(builder.places(pairs))]);
}

function place(of: Place): FlatField {
  return { place: of };
}

/** A message without its body. */
function message(builder: FlatBuilder, header: number, content: Place, bodyLength: number): Uint8Array {
  const root = builder.table([
    { size: 2, value: VERSION },
    { size: 1, value: header },
    place(content),
    { size: 8, value: BigInt(bodyLength) },
  ]);
  const metadata = builder.finish(root);
  const bytes = new Uint8Array(8 + padded(metadata.length));
  const view = new DataView(bytes.buffer);
  view.setUint32(0, CONTINUATION, true);
  view.setUint32(4, padded(metadata.length), true);
  bytes.set(metadata, 8);
  return bytes;
}

function fieldOf(builder: FlatBuilder, name: string, type: DataType): Place {
  const { id, parameters, children } = layoutOf(type);
  const below = builder.places(children.map((child) => fieldOf(builder, child.name, child.type)));
  const parametersAt = builder.table(parameters.map((value) => (typeof value === "string" ? place(builder.text(value)) : value)));
  return builder.table([
    place(builder.text(name)),
    { size: 1, value: 1 },
    { size: 1, value: id },
    place(parametersAt),
    undefined,
    place(below),
  ]);
}

interface Layout {
  readonly id: number;
  readonly parameters: readonly (FlatField | string)[];
  readonly children: readonly { readonly name: string; readonly type: DataType }[];
}

function plain(id: number, ...parameters: readonly (FlatField | string)[]): Layout {
  return { id, parameters, children: [] };
}

const LAYOUTS: Readonly<Record<PrimitiveType, Layout>> = {
  [PrimitiveType.UNSPECIFIED]: plain(Type.UTF8),
  [PrimitiveType.INT64]: plain(Type.INT, { size: 4, value: 64 }, { size: 1, value: 1 }),
  [PrimitiveType.FLOAT64]: plain(Type.FLOAT, { size: 2, value: PRECISIONS[8] ?? 0 }),
  [PrimitiveType.STRING]: plain(Type.UTF8),
  [PrimitiveType.BOOL]: plain(Type.BOOL),
  [PrimitiveType.BYTES]: plain(Type.BINARY),
  [PrimitiveType.DATE]: plain(Type.DATE, { size: 2, value: DAY_UNIT }),
  [PrimitiveType.DATETIME]: plain(Type.TIMESTAMP, { size: 2, value: MICROSECONDS }, "UTC"),
  [PrimitiveType.TIMEDELTA]: plain(Type.DURATION, { size: 2, value: MICROSECONDS }),
  [PrimitiveType.DECIMAL]: plain(Type.UTF8),
  [PrimitiveType.JSON]: plain(Type.UTF8),
};

function layoutOf(type: DataType): Layout {
  const { kind } = type;
  if (kind.case === "struct")
    return { id: Type.STRUCT, parameters: [], children: kind.value.fields.map(({ name, dtype }) => ({ name, type: dtype as DataType })) };
  if (kind.case !== "list") return LAYOUTS[primitiveOf(type)];
  const children = [{ name: "item", type: kind.value.element as DataType }];
  const size = kind.value.vector?.size ?? 0;
  return size > 0 ? { id: Type.FIXED_LIST, parameters: [{ size: 4, value: size }], children } : { id: Type.LIST, parameters: [], children };
}

/** The values of columns, as the buffers of a batch. */
class Batch {
  readonly nodes: (readonly [length: bigint, nulls: bigint])[] = [];
  readonly extents: (readonly [offset: bigint, length: bigint])[] = [];
  readonly buffers: Uint8Array[] = [];
  length = 0;

  add(type: DataType, values: readonly (FeatureValue | undefined)[]): void {
    const { kind } = type;
    const rows = values.length;
    const isThere = values.map((value) => value !== null && value !== undefined);
    const nulls = isThere.filter((there) => !there).length;
    this.nodes.push([BigInt(rows), BigInt(nulls)]);
    this.#push(nulls === 0 ? new Uint8Array(0) : bits(isThere));
    if (kind.case === "struct") {
      for (const { name, dtype } of kind.value.fields)
        this.add(
          dtype as DataType,
          values.map((value) => (value as Readonly<Record<string, FeatureValue>> | null | undefined)?.[name]),
        );
      return;
    }
    if (kind.case !== "list") {
      this.#addPrimitives(primitiveOf(type), values);
      return;
    }
    const lists = values as readonly (readonly FeatureValue[] | null | undefined)[];
    const size = kind.value.vector?.size ?? 0;
    const element = kind.value.element as DataType;
    const whole = size > 0 ? new Array<null>(size).fill(null) : [];
    if (size === 0) this.#push(offsets(lists.map((list) => list?.length ?? 0)));
    this.add(
      element,
      lists.flatMap((list) => list ?? whole),
    );
  }

  #addPrimitives(type: PrimitiveType, values: readonly (FeatureValue | undefined)[]): void {
    const numbers = numbersOf(type, values);
    if (numbers) this.#push(numbers);
    else this.#addBytes(values.map((value) => bytesOf(type, value ?? null)));
  }

  #addBytes(values: readonly Uint8Array[]): void {
    this.#push(offsets(values.map(({ length }) => length)));
    this.#push(Buffer.concat(values));
  }

  #push(buffer: Uint8Array | Float64Array | Int32Array | BigInt64Array): void {
    const bytes = new Uint8Array(buffer.buffer, buffer.byteOffset, buffer.byteLength);
    const whole = padded(bytes.length);
    this.extents.push([BigInt(this.length), BigInt(bytes.length)]);
    this.buffers.push(bytes);
    if (whole > bytes.length) this.buffers.push(new Uint8Array(whole - bytes.length));
    this.length += whole;
  }
}

/** The values of a type whose values have one length; undefined for others. */
function numbersOf(type: PrimitiveType, values: readonly (FeatureValue | undefined)[]) {
  switch (type) {
    case PrimitiveType.INT64:
    case PrimitiveType.TIMEDELTA:
      return longs(values, (value) => BigInt(value as number | bigint));
    case PrimitiveType.DATETIME:
      return longs(values, (value) => parseInstant(value as string)?.micros ?? 0n);
    case PrimitiveType.FLOAT64:
      return Float64Array.from(values, (value) => (value ?? 0) as number);
    case PrimitiveType.DATE:
      return Int32Array.from(values, (value) => (value ? Math.round(Date.parse(`${value as string}T00:00:00Z`) / DAY_MS) : 0));
    case PrimitiveType.BOOL:
      return bits(values.map((value) => value === true));
    default:
      return undefined;
  }
}

const NOTHING = new Uint8Array(0);
/** JSON is what JSON can say, so its type has no parameters. */
const JSON_TYPE = { kind: { case: "primitive", value: PrimitiveType.JSON } } as DataType;

function bytesOf(type: PrimitiveType, value: FeatureValue): Uint8Array {
  if (value === null) return NOTHING;
  if (type === PrimitiveType.BYTES) return value as Uint8Array;
  return Buffer.from(type === PrimitiveType.JSON ? JSON.stringify(toPlainJson(value, JSON_TYPE)) : String(value));
}

function longs(values: readonly (FeatureValue | undefined)[], read: (value: FeatureValue) => bigint): BigInt64Array {
  return BigInt64Array.from(values, (value) => (value === null || value === undefined ? 0n : read(value)));
}

function offsets(lengths: readonly number[]): Int32Array {
  const made = new Int32Array(lengths.length + 1);
  lengths.forEach((length, at) => {
    made[at + 1] = (made[at] ?? 0) + length;
  });
  return made;
}

function bits(values: readonly boolean[]): Uint8Array {
  const made = new Uint8Array((values.length + 7) >> 3);
  values.forEach((value, at) => {
    if (value) made[at >> 3] = (made[at >> 3] ?? 0) | (1 << (at & 7));
  });
  return made;
}
