/**
 * The inputs of a benchmark's queries: values of the request, or rows of a file that was uploaded.
 */

import { open, rm } from "node:fs/promises";
import { join } from "node:path";
import type { Feature } from "../../../gen/svc/v1/graph_pb.ts";
import { type DataType, PrimitiveType } from "../../../gen/svc/v1/value_pb.ts";
import { didYouMean } from "../../domain/closest.ts";
import { rawName } from "../../domain/name.ts";
import { type FeatureValue, jsonOf, primitiveOf, toPlainJson } from "../../domain/value.ts";
import { tableColumns } from "../datasets/columns.ts";
import type { RevisionMaker } from "../datasets/revisions.ts";
import { Failure } from "../failure.ts";
import type { RevisionRecord } from "../stores/metadata/datasets.ts";
import type { TableChunk, TableColumn, TableEngine } from "../tables/engine.ts";

/** The dataset that an input file is a revision of. */
export function inputDataset(file: string): string {
  return `benchmark-input:${file}`;
}

/** Most rows of an input file, and most bytes of them as JSON. */
const MAX_ROWS = 100_000;
const MAX_BYTES = 64 * 1024 * 1024;
const CHUNK_ROWS = 2_000;

/** Features by FQN. */
export type FeaturesByName = ReadonlyMap<string, Feature>;

/** Throws Failure when a revision's rows cannot be inputs of queries. */
export function checkInputRevision(
  file: string,
  { columns, rows }: Pick<RevisionRecord, "columns" | "rows">,
  features: FeaturesByName,
): void {
  if (columns.length === 0)
    throw new Failure("failed_precondition", `'${file}' is no table, so its rows cannot be inputs.`, {
      hint: "Upload it with `svc benchmark upload`, which takes Parquet, and JSON with one object a line.",
    });
  if (rows === 0 || rows > MAX_ROWS)
    throw new Failure(
      rows === 0 ? "failed_precondition" : "resource_exhausted",
      `An input file has 1 to ${MAX_ROWS} rows, and '${file}' has ${rows}.`,
    );
  for (const { name } of columns) checkFeature(name, features, `Column '${name.slice(0, 200)}' of '${file}'`);
}

/**
 * Throws Failure invalid_argument for a name that is no feature's.
 * @param what the beginning of the message
 */
export function checkFeature(name: string, features: FeaturesByName, what: string): void {
  if (features.has(rawName(name).replace(/^\./, ""))) return;
  throw new Failure("invalid_argument", `${what} is no feature of what is live.`, {
    hint:
      didYouMean(name, [...features.keys()]).replace(/^d/, "D") ||
      "Columns and inputs are named in full, such as `user.id`; `svc features list` shows them.",
  });
}

/**
 * Values of a request as `svc query --in` takes them: JSON, else text; of a feature of text, the
 * text as it stands unless it is JSON's.
 */
export function valuesOf(inputs: Readonly<Record<string, string>>, features: FeaturesByName): string {
  const values = Object.entries(inputs).map(([given, text]) => {
    const name = rawName(given).replace(/^\./, "");
    const { kind } = features.get(name) ?? {};
    return [name, typedValue(text, kind?.case === "scalar" ? kind.value.dtype : undefined)] as const;
  });
  return JSON.stringify(Object.fromEntries(values));
}

function typedValue(text: string, dtype: DataType | undefined): unknown {
  const value = jsonOf(text) as FeatureValue;
  const isText = dtype !== undefined && primitiveOf(dtype) === PrimitiveType.STRING;
  return isText && typeof value !== "string" ? text : toPlainJson(value, undefined, { largeNumbers: true });
}

/**
 * Writes the rows of a revision into a file, an object of JSON a line. What is null in a row is not
 * given in its query. Rejects with Failure when they are too long.
 * @param folder for files in between
 */
export async function writeRows(
  { revisions, tables }: { readonly revisions: Pick<RevisionMaker, "fetch" | "files">; readonly tables: TableEngine },
  revision: RevisionRecord,
  { folder, path, signal }: { readonly folder: string; readonly path: string; readonly signal: AbortSignal },
): Promise<void> {
  const columns = tableColumns(revision.columns);
  const target = await open(path, "wx", 0o600);
  try {
    let bytes = 0;
    for (const [at, file] of (await revisions.files(revision.id)).filter(({ kind }) => kind === "output").entries()) {
      const local = join(folder, `input-${at}.parquet`);
      await revisions.fetch(file, local);
      for await (const chunk of tables.read(local, { columns, chunkRows: CHUNK_ROWS, signal })) {
        const text = rowsText(columns, chunk);
        bytes += text.length;
        if (bytes > MAX_BYTES)
          throw new Failure("resource_exhausted", `The rows of an input file have at most ${MAX_BYTES / 1024 / 1024} MiB as JSON.`, {
            hint: "Upload fewer rows: a benchmark begins again with the first one when it has used all.",
          });
        await target.writeFile(text);
      }
      await rm(local, { force: true });
    }
  } finally {
    await target.close();
  }
}

function rowsText(columns: readonly TableColumn[], { rows, columns: values }: TableChunk): string {
  const names = columns.map(({ name }) => rawName(name).replace(/^\./, ""));
  return Array.from({ length: rows }, (_, row) => {
    const given = columns.flatMap(({ dtype }, at) => {
      const value = values[at]?.[row] ?? null;
      return value === null ? [] : [[names[at] as string, toPlainJson(value, dtype, { largeNumbers: true })] as const];
    });
    return `${JSON.stringify(Object.fromEntries(given))}\n`;
  }).join("");
}
