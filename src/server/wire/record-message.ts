/** Records of stores as messages of the contract. */

import { create, type DescMessage, type MessageInitShape, type MessageShape } from "@bufbuild/protobuf";
import { type Timestamp, TimestampSchema } from "@bufbuild/protobuf/wkt";
import { msToTimestamp } from "../../domain/proto-time.ts";

/** A record with the fields of a message: its times are epoch milliseconds. */
export type RecordOf<M> = {
  readonly [K in keyof M as K extends `$${string}` ? never : K]?: M[K] extends Timestamp | undefined ? number | undefined : M[K];
};

/** The message of a record: fields of the same names. The record's other fields are left out. */
export function recordMessage<D extends DescMessage>(schema: D, record: RecordOf<MessageShape<D>>): MessageShape<D> {
  const values: Record<string, unknown> = { ...record };
  for (const { localName, message } of schema.fields) {
    const value = values[localName];
    if (message?.typeName === TimestampSchema.typeName && typeof value === "number") values[localName] = msToTimestamp(value);
  }
  return create(schema, values as MessageInitShape<D>);
}
