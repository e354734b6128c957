/** Following an offline query to its end, and fetching its answer. */

import { rename } from "node:fs/promises";
import { basename } from "node:path";
import { type OfflineQuery, type OfflineQueryFormat, OfflineQueryStatus } from "../../../gen/svc/v1/offline_query_pb.ts";
import type { Context } from "../../context/context.ts";
import { formatDuration } from "../../domain/duration.ts";
import { sizeText } from "../../domain/size.ts";
import { CliError } from "../../errors/cli-error.ts";
import { fromSystem } from "../../errors/from-system.ts";
import { followToEnd } from "../following.ts";

/** Whether a query has ended. */
export function hasEnded({ status }: OfflineQuery): boolean {
  return status !== OfflineQueryStatus.QUEUED && status !== OfflineQueryStatus.WORKING;
}

/**
 * The query once it has ended. When the command is interrupted the query goes on, and the user is
 * told how to end it.
 */
export async function followQuery(context: Context, begun: OfflineQuery): Promise<OfflineQuery> {
  const service = await context.api.offlineQueries();
  context.progress.note(`Offline query ${begun.id}`);
  return followToEnd(context, begun, {
    title: "Answering",
    goesOn: `The query goes on. \`svc offline-query cancel ${begun.id}\` ends it, \`svc offline-query get ${begun.id}\` shows it.`,
    ask: async () => (await service.getOfflineQuery({ id: begun.id })).query,
    hasFailed: ({ status }) => status !== OfflineQueryStatus.COMPLETED,
    ...{ hasEnded, progressText },
  });
}

/**
 * How far a query is: its rows, how many a second and how long the others take.
 * @param elapsedMs since it was begun
 */
export function progressText({ status, totalRows, doneRows }: OfflineQuery, elapsedMs: number): string {
  if (status === OfflineQueryStatus.QUEUED) return "waits for a node";
  if (totalRows === 0n) return "reads the rows";
  const [done, total] = [Number(doneRows), Number(totalRows)];
  const rate = (1000 * done) / Math.max(elapsedMs, 1);
  const text = `${done.toLocaleString("en")} of ${total.toLocaleString("en")} rows`;
  if (done === 0) return text;
  const left = formatDuration(Math.max(1000, Math.round((total - done) / rate) * 1000));
  return `${text}, ${Math.round(rate).toLocaleString("en")} a second${done < total ? `, ${left} left` : ""}`;
}

/** Writes the table of a completed query to a file, which appears when it is whole and checked. */
export async function saveTable(context: Context, id: string, path: string, format: OfflineQueryFormat): Promise<void> {
  const { api, http, progress } = context;
  const { file } = await (await api.offlineQueries()).exportOfflineQuery({ id, format });
  if (!file) throw new CliError(`Offline query ${id} has no table`, { code: "broken_answer" });
  const size = Number(file.sizeBytes);
  const partial = `${path}.${file.sha256.slice(0, 16)}.svc-part`;
  await progress.step(`Downloading ${basename(path)}`, async (say) => {
    await http.downloadFile(file.url, {
      ...{ path: partial, bytes: size, sha256: file.sha256 },
      onReceived: (bytes) => say(`${Math.floor((100 * bytes) / Math.max(size, 1))}% of ${sizeText(size)}`),
    });
    await rename(partial, path).catch((error: unknown) => {
      throw fromSystem(error, `write ${path}`) ?? error;
    });
  });
}
