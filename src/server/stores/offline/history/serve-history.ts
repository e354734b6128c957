/** The program of the process that owns the history. */

import { serveProcess } from "../../../thread/serve-process.ts";
import { toHistoryError } from "./failure.ts";
import { History, type HistorySettings } from "./history.ts";
import { type HistoryMethods, type PackedHistory, packed, unpacked } from "./link.ts";

/** Serves the history to the process that started this one, until that ends or closes it. */
export function serveHistory(): Promise<void> {
  return serveProcess<PackedHistory, HistorySettings>(async (settings) => {
    const explained = async <T>(work: () => Promise<T> | T): Promise<T> => {
      try {
        return await work();
      } catch (error) {
        throw toHistoryError(settings.file, error);
      }
    };
    const history = await explained(() => History.open(settings));
    return {
      call: (method, args) =>
        explained(async () => {
          const work = history[method as keyof HistoryMethods] as (...args: unknown[]) => unknown;
          return packed(await work.apply(history, unpacked(args) as unknown[]));
        }),
    };
  });
}
