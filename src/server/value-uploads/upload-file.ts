/** The file of an upload, fetched from the object store, and the columns that it has. */

import { mkdir, open } from "node:fs/promises";
import { dirname } from "node:path";
import { create } from "@bufbuild/protobuf";
import { DataTypeSchema, PrimitiveType } from "../../../gen/svc/v1/value_pb.ts";
import { Failure } from "../failure.ts";
import { JobFailed } from "../jobs/runner.ts";
import type { NewValueUpload, ValueUploadRequest } from "../stores/metadata/value-uploads.ts";
import { ObjectMismatch, type ObjectStore } from "../stores/objects/store.ts";
import { verified } from "../stores/objects/verified.ts";
import { type TableColumn, type TableDescription, type TableEngine, TableError } from "../tables/engine.ts";
import type { RawForm } from "./typed-rows.ts";
import { UploadRefused } from "./upload-plan.ts";

/** Most rows of a file. */
const MAX_FILE_ROWS = 100_000_000;
/** Most characters of an error that are kept. */
export const MAX_ERROR = 4_000;

/** A file whose columns are understood. */
export interface OpenFile extends TableDescription {
  readonly engine: TableEngine;
  readonly path: string;
  readonly columns: readonly TableColumn[];
  readonly form: RawForm;
}

/** Fetches the file of an upload to a path, and looks at it; `finalFailure` reads its errors. */
export type FileOpener = (
  file: Pick<NewValueUpload, "object" | "sha256">,
  format: ValueUploadRequest["format"],
  path: string,
) => Promise<OpenFile>;

/** Opens files of uploads. */
export function createFileOpener({
  objects,
  tables,
}: {
  readonly objects: Pick<ObjectStore, "get">;
  readonly tables: () => Promise<TableEngine>;
}): FileOpener {
  const fetchFile = async ({ object, sha256 }: Parameters<FileOpener>[0], path: string): Promise<void> => {
    const body = await objects.get(object);
    if (!body) throw new JobFailed("its file is no longer in the object store");
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    const file = await open(path, "w", 0o600);
    try {
      for await (const bytes of verified(body, sha256)) await file.write(bytes);
    } finally {
      await file.close();
    }
  };

  return async (object, format, path) => {
    await fetchFile(object, path);
    const engine = await tables();
    const described = await engine.describe(path, format);
    if (described.rows > MAX_FILE_ROWS) throw refused(`the file has more than ${MAX_FILE_ROWS} rows`);
    if (described.rows === 0) throw refused("the file has no rows");
    const type = format === "csv" ? TEXT : JSON_VALUE;
    const columns = format === "parquet" ? described.columns : described.columns.map(({ name }) => ({ name, dtype: type }));
    return { ...described, engine, path, columns, form: format === "csv" ? "raw" : "typed" };
  };
}

const TEXT = create(DataTypeSchema, { kind: { case: "primitive", value: PrimitiveType.STRING } });
const JSON_VALUE = create(DataTypeSchema, { kind: { case: "primitive", value: PrimitiveType.JSON } });

function refused(message: string): UploadRefused {
  return new UploadRefused([{ row: 0, column: "", message }]);
}

/** The error of an attempt, as JobFailed when another one would fail alike. */
export async function finalFailure(
  error: unknown,
  path: string,
  keep: (problems: UploadRefused["problems"]) => Promise<void>,
): Promise<unknown> {
  if (error instanceof UploadRefused) {
    await keep(error.problems);
    return new JobFailed(error.message);
  }
  if (error instanceof ObjectMismatch) return new JobFailed("the file that came is not the one that was announced; upload it again");
  if (error instanceof TableError && error.code !== "failed" && error.code !== "exhausted")
    return new JobFailed((error.message.split("\n\n", 1)[0] as string).replaceAll(path, "the file").slice(0, MAX_ERROR));
  if (error instanceof Failure && error.kind !== "unavailable") return new JobFailed(error.message);
  return error;
}
