/** Worker thread that owns the telemetry file: it writes, packs, prunes, checkpoints and reads, so that none of that holds up a query. */

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

/** What a call came to. */
export type TelemetryAnswer = { readonly id: number } & ({ readonly result: unknown } | { readonly failed: string });

let database: TelemetryDatabase | undefined;

self.onmessage = ({ data }: MessageEvent<TelemetryRequest>): void => self.postMessage(answer(data));

function answer({ id, file, method, argument }: TelemetryRequest): TelemetryAnswer {
  try {
    if (method === "close") return { id, result: database?.close() };
    database ??= new TelemetryDatabase(file);
    return { id, result: (database[method] as (argument: unknown) => unknown).call(database, argument) };
  } catch (error) {
    return { id, failed: error instanceof Error ? error.message : String(error) };
  }
}
