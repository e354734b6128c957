/**
 * Files with the rows of offline queries, and with their answers: formats by suffix, and uploads.
 */

import { basename, extname } from "node:path";
import { OfflineQueryFormat } from "../../../gen/svc/v1/offline_query_pb.ts";
import type { Context } from "../../context/context.ts";
import { sizeText } from "../../domain/size.ts";
import { CliError, UsageError } from "../../errors/cli-error.ts";

const FORMATS: Readonly<Record<string, OfflineQueryFormat>> = {
  ".parquet": OfflineQueryFormat.PARQUET,
  ".pq": OfflineQueryFormat.PARQUET,
  ".csv": OfflineQueryFormat.CSV,
  ".jsonl": OfflineQueryFormat.JSON,
  ".ndjson": OfflineQueryFormat.JSON,
  ".json": OfflineQueryFormat.JSON,
};

/** The format of a file by the end of its name. Throws UsageError for others. */
export function formatOf(path: string, flag: string): OfflineQueryFormat {
  const format = FORMATS[extname(path).toLowerCase()];
  if (format === undefined)
    throw new UsageError(`${flag} ${basename(path)}: the name of the file says nothing of its format`, {
      hint: "Files end in .parquet, .csv or .jsonl.",
    });
  return format;
}

/** Uploads a file with rows; returns the id of the upload. */
export async function uploadRows({ api, http, machine, progress }: Context, path: string): Promise<string> {
  const bytes = await machine.readBytes(path);
  if (!bytes) throw new CliError(`There is no file ${path}`, { code: "file_missing", hint: "--input takes a path." });
  const sha256 = new Bun.CryptoHasher("sha256").update(bytes).digest("hex");
  const { uploadId, url } = await (await api.offlineQueries()).createOfflineQueryUpload({ sha256, sizeBytes: BigInt(bytes.length) });
  await progress.step(`Uploading ${basename(path)}`, (say) =>
    http.upload(url, bytes, (sent) => say(`${Math.floor((100 * sent) / bytes.length)}% of ${sizeText(bytes.length)}`)),
  );
  return uploadId;
}
