/**
 * The first rows of a revision's table, typed. Values of features that are tagged as personal are
 * left out, as they are of its statistics. Previews are read one after another, each of a bounded
 * number of bytes.
 */

import { rm } from "node:fs/promises";
import { join } from "node:path";
import { toPlainJson } from "../../domain/value.ts";
import { Failure } from "../failure.ts";
import type { MetadataStore } from "../stores/metadata/store.ts";
import type { TableChunk, TableColumn, TableEngine } from "../tables/engine.ts";
import { tableColumns } from "./columns.ts";
import type { Datasets } from "./datasets.ts";
import type { Revisions } from "./revision-maker.ts";

/** Most rows of a preview. */
export const MOST_PREVIEW_ROWS = 1_000;
/** Most values of a preview, and characters of them as JSON. */
const MOST_VALUES = 200_000;
const MOST_LENGTH = 4 * 1024 * 1024;
/** Most bytes of a file that is read for a preview. */
const MOST_FILE_BYTES = 1024 * 1024 * 1024;
/** Rows that are read and measured at once. */
const CHUNK_ROWS = 100;

/** The first rows of a table. */
export interface DatasetPreview extends TableChunk {
  readonly revisionId: string;
  /** The columns that are shown. */
  readonly shown: readonly TableColumn[];
  /** Names of the columns that are left out. */
  readonly hidden: readonly string[];
  /** Whether fewer rows are here than were asked for and there are. */
  readonly truncated: boolean;
}

/** Previews of datasets. */
export interface DatasetPreviews {
  /**
   * The first rows of a revision, or of a dataset's newest one. Rejects with Failure not_found;
   * invalid_argument for more rows than are shown; failed_precondition of a revision that is not
   * complete or no table; resource_exhausted when its first file is too large.
   */
  preview(environmentId: string, wanted: string, rows: number, signal: AbortSignal): Promise<DatasetPreview>;
}

/** Makes previews. */
export function createDatasetPreviews({
  datasets,
  metadata,
  revisions,
  tables,
  personal,
  workFolder,
}: {
  readonly datasets: Pick<Datasets, "find">;
  readonly metadata: Pick<MetadataStore, "datasets">;
  readonly revisions: Pick<Revisions, "fetch">;
  readonly tables: () => Promise<TableEngine>;
  /** The features of an environment that are tagged as personal, by FQN. */
  readonly personal: (environmentId: string) => Promise<ReadonlySet<string>>;
  /** Makes a folder for temporary files, which its user removes. */
  readonly workFolder: () => Promise<string>;
}): DatasetPreviews {
  let last: Promise<unknown> = Promise.resolve();

  const read = async (environmentId: string, wanted: string, most: number, signal: AbortSignal): Promise<DatasetPreview> => {
    signal.throwIfAborted();
    const { revision } = await datasets.find(environmentId, wanted);
    if (revision?.state !== "complete")
      throw new Failure("failed_precondition", "The revision is not complete, so it has no rows to show.");
    if (revision.columns.length === 0) throw new Failure("failed_precondition", "Its files are no table, so there are no rows to show.");
    const hiddenNames = await personal(environmentId);
    const all = tableColumns(revision.columns);
    const shown = all.filter(({ name }) => !hiddenNames.has(name));
    const hidden = all.flatMap(({ name }) => (hiddenNames.has(name) ? [name] : []));
    const files = (await metadata.datasets.files(revision.id)).filter(({ kind, rows }) => kind === "output" && rows > 0);
    const asked = Math.min(most, revision.rows);
    const rows = Math.min(asked, Math.floor(MOST_VALUES / Math.max(1, shown.length)));
    const columns = shown.map((): TableChunk["columns"][number][number][] => []);
    let [count, length] = [0, 0];
    const work = await workFolder();
    try {
      for (const [at, file] of files.entries()) {
        if (count >= rows || length >= MOST_LENGTH || shown.length === 0) break;
        if (file.bytes > MOST_FILE_BYTES) {
          if (count > 0) break;
          throw new Failure("resource_exhausted", `${file.name} is too large for a preview.`, { hint: "`svc dataset download` gets it." });
        }
        const path = join(work, String(at));
        await revisions.fetch(file, path);
        const wish = { columns: shown, limit: rows - count, chunkRows: CHUNK_ROWS, signal };
        for await (const chunk of (await tables()).read(path, wish)) {
          for (let row = 0; row < chunk.rows && count < rows && length < MOST_LENGTH; row++, count++)
            for (const [column, values] of chunk.columns.entries()) {
              const value = values[row] ?? null;
              columns[column]?.push(value);
              length += JSON.stringify(toPlainJson(value)).length;
            }
          if (count >= rows || length >= MOST_LENGTH) break;
        }
        await rm(path, { force: true });
      }
    } finally {
      await rm(work, { recursive: true, force: true });
    }
    return { revisionId: revision.id, shown, hidden, rows: count, columns, truncated: shown.length > 0 && count < asked };
  };

  return {
    preview(environmentId, wanted, rows, signal) {
      if (!Number.isInteger(rows) || rows < 1 || rows > MOST_PREVIEW_ROWS)
        return Promise.reject(new Failure("invalid_argument", `A preview has 1 to ${MOST_PREVIEW_ROWS} rows.`));
      const mine = last.then(() => read(environmentId, wanted, rows, signal));
      last = mine.catch(() => undefined);
      return mine;
    },
  };
}
