/**
 * Bulk requests as bytes: one pass finds where their values lie, and each value is decoded when its
 * row is run, so that a query of many rows never exists as objects all at once.
 */

import { create, type DescField, fromBinary, mergeFromBinary } from "@bufbuild/protobuf";
import { TimestampSchema } from "@bufbuild/protobuf/wkt";
import {
  BulkInputSchema,
  QueryBulkRequestSchema,
  QueryInputSchema,
  type QueryRequest,
  QueryRequestSchema,
} from "../../../../gen/svc/v1/query_pb.ts";
import { timestampToMicros } from "../../../domain/proto-time.ts";
import { type BulkInput, inputFromProto } from "../../query/request/request.ts";
import { MAX_FIELDS, messageCheck, WireCursor } from "../http/message-check.ts";

/**
 * Most fields of all values of a bulk request together: a value has two, or more when it is a list
 * or a struct. Also the most fields of its columns.
 */
const MAX_BULK_FIELDS = 4_000_000;
const MAX_COLUMNS = 20_000;
/** Most values of a column. */
const MAX_BULK_VALUES = 1_000_000;

/** A bulk request. */
export interface BulkMessage {
  /** Everything but the columns; undefined when the request does not have it. */
  readonly query: QueryRequest | undefined;
  readonly columns: readonly BulkInput[];
  /** The time of each row, microseconds since 1970; empty = the query's time. */
  readonly now: readonly bigint[];
}

/** Tags of the fields that are read here, all of which have a length. */
const [QUERY, INPUTS, NOW] = [
  QueryBulkRequestSchema.field.query,
  QueryBulkRequestSchema.field.inputs,
  QueryBulkRequestSchema.field.now,
].map(tagOf);
const [FEATURE, VALUES] = [BulkInputSchema.field.feature, BulkInputSchema.field.values].map(tagOf);

function tagOf({ number }: DescField): number {
  return (number << 3) | 2;
}

/** Number of fields after which other requests get their turn. */
const FIELDS_AT_ONCE = 20_000;

/** The number of fields of columns that were read. */
interface Progress {
  fields: number;
}

/** Reads a request. Rejects with MessageRefused when the bytes of any part of it are malformed. */
export async function readBulkMessage(bytes: Uint8Array): Promise<BulkMessage> {
  const check = {
    query: messageCheck(QueryRequestSchema, bytes, MAX_FIELDS),
    value: messageCheck(QueryInputSchema, bytes, MAX_BULK_FIELDS),
    time: messageCheck(TimestampSchema, bytes, MAX_BULK_FIELDS),
  };
  let query: QueryRequest | undefined;
  const columns: BulkInput[] = [];
  const now: bigint[] = [];
  const progress: Progress = { fields: 0 };
  const top = new WireCursor(bytes);
  for (let fields = 0; top.at < bytes.length; ) {
    const tag = top.tag(bytes.length);
    const from = top.skip(tag & 7, bytes.length);
    if (tag === NOW) {
      check.time(from, top.at);
      now.push(timestampToMicros(fromBinary(TimestampSchema, bytes.subarray(from, top.at), { readUnknownFields: false })));
      if (now.length > MAX_BULK_VALUES) throw top.wrong(`it has more than ${MAX_BULK_VALUES} times; send it in parts`);
      if (now.length % FIELDS_AT_ONCE === 0) await Bun.sleep(0);
      continue;
    }
    if (++fields > MAX_COLUMNS) throw top.wrong(`it has more than ${MAX_COLUMNS} columns`);
    if (tag === QUERY) {
      check.query(from, top.at);
      query ??= create(QueryRequestSchema);
      mergeFromBinary(QueryRequestSchema, query, bytes.subarray(from, top.at), { readUnknownFields: false });
    } else if (tag === INPUTS) columns.push(await readColumn(bytes, from, top.at, check.value, progress));
  }
  return { query, columns, now };
}

async function readColumn(
  bytes: Uint8Array,
  from: number,
  to: number,
  check: (from: number, to: number) => void,
  progress: Progress,
): Promise<BulkInput> {
  let nameAt: readonly [number, number] = [from, from];
  const starts: number[] = [];
  const ends: number[] = [];
  const cursor = new WireCursor(bytes);
  cursor.at = from;
  while (cursor.at < to) {
    if (++progress.fields > MAX_BULK_FIELDS) throw cursor.wrong(`its columns have more than ${MAX_BULK_FIELDS} fields; send it in parts`);
    if (progress.fields % FIELDS_AT_ONCE === 0) await Bun.sleep(0);
    const tag = cursor.tag(to);
    const start = cursor.skip(tag & 7, to);
    if (tag === FEATURE) nameAt = [start, cursor.at];
    else if (tag === VALUES) {
      check(start, cursor.at);
      starts.push(start);
      ends.push(cursor.at);
      if (starts.length > MAX_BULK_VALUES) throw cursor.wrong(`a column has more than ${MAX_BULK_VALUES} values; send it in parts`);
    }
  }
  const name = new TextDecoder().decode(bytes.subarray(...nameAt));
  const single = starts.length === 1;
  return {
    name,
    length: starts.length,
    at: (row) => {
      const at = single ? 0 : row;
      const value = bytes.subarray(starts[at], ends[at]);
      return inputFromProto(name, fromBinary(QueryInputSchema, value, { readUnknownFields: false }).value);
    },
  };
}
