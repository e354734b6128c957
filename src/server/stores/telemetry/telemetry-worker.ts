/**
 * Worker thread that owns the telemetry file: it writes, packs, prunes, checkpoints and reads, so
 * that none of that holds up a query.
 */

import { errorText } from "../../../domain/error-text.ts";
import { serve } from "../../thread/rpc.ts";
import { isDamage, setAside } from "../sqlite/open.ts";
import { TelemetryDatabase, type TelemetryFile } from "./database.ts";

/** Events of the thread: a damaged file was begun anew; why, and where it is now. */
export type TelemetryEvents = { readonly renewed: readonly [reason: string, kept: string] };

/**
 * No answer to a query depends on the file: one that is damaged is set aside, and the call made
 * again on an empty one.
 */
serve<TelemetryDatabase, TelemetryFile, TelemetryEvents>({
  make: (file) => new TelemetryDatabase(file),
  close: (database) => database.close(),
  renewal: {
    isFor: isDamage,
    prepare: (damage, { path }, tell) => tell("renewed", errorText(damage), setAside(path)),
  },
});
