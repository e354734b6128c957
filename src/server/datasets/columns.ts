/** Columns of revisions as they are kept. */

import { fromJson, type JsonValue, toJson } from "@bufbuild/protobuf";
import { DataTypeSchema } from "../../../gen/svc/v1/value_pb.ts";
import type { StoredColumn } from "../stores/metadata/datasets.ts";
import type { TableColumn } from "../tables/engine.ts";

/** Columns to be kept. */
export function storedColumns(columns: readonly TableColumn[]): StoredColumn[] {
  return columns.map(({ name, dtype }) => ({ name, dtype: toJson(DataTypeSchema, dtype) }));
}

/** Columns that were kept. */
export function tableColumns(columns: readonly StoredColumn[]): TableColumn[] {
  return columns.map(({ name, dtype }) => ({ name, dtype: fromJson(DataTypeSchema, dtype as JsonValue) }));
}
