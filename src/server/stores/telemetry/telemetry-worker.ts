/** Worker thread that owns the telemetry file: it writes, packs, prunes, checkpoints and reads, so that none of that holds up a query. */

import { isDamage, setAside } from "../sqlite/open.ts";
import { TelemetryDatabase, type TelemetryFile } from "./database.ts";

declare const self: Worker;

/** What the store asks for, by name. */
export type TelemetryMethod =
  | "write"
  | "query"
  | "queries"
  | "logs"
  | "spans"
  | "keepStages"
  | "stages"
  | "expiredStages"
  | "forgetStages"
  | "probe"
  | "close";

/** A call; answered in order by a `TelemetryAnswer` of the same id. The file is opened with the first, and again with the next when that failed. */
export interface TelemetryRequest {
  readonly id: number;
  readonly file: TelemetryFile;
  readonly method: TelemetryMethod;
  readonly argument: unknown;
}

/** What a call came to; or, beside the answers, why the file was begun anew, and where the damaged one is now. */
export type TelemetryAnswer =
  | ({ readonly id: number } & ({ readonly result: unknown } | { readonly failed: string }))
  | { readonly renewed: string; readonly kept: string };

let database: TelemetryDatabase | undefined;

self.onmessage = ({ data }: MessageEvent<TelemetryRequest>): void => self.postMessage(answer(data));

/** No answer depends on the file: one that is damaged is set aside, and the call made again on an empty one. */
function answer({ id, file, method, argument }: TelemetryRequest): TelemetryAnswer {
  const call = (): unknown => {
    if (method === "close") return database?.close();
    database ??= new TelemetryDatabase(file);
    return (database[method] as (argument: unknown) => unknown).call(database, argument);
  };
  try {
    try {
      return { id, result: call() };
    } catch (error) {
      if (!isDamage(error) || method === "close") throw error;
      renew(file, error);
      return { id, result: call() };
    }
  } catch (error) {
    return { id, failed: textOf(error) };
  }
}

function renew({ path }: TelemetryFile, damage: unknown): void {
  try {
    database?.close();
  } finally {
    database = undefined;
  }
  self.postMessage({ renewed: textOf(damage), kept: setAside(path) } satisfies TelemetryAnswer);
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
