/**
 * Worker thread that owns the telemetry file: it writes, compresses, prunes, checkpoints and reads,
 * so that none of that delays a query.
 */

import { errorText } from "../../../domain/error-text.ts";
import { serve } from "../../thread/rpc.ts";
import { isDamage, setAside } from "../sqlite/open.ts";
import { TelemetryDatabase, type TelemetryFile } from "./database.ts";

/**
 * Events of the thread. `renewed`: a damaged file was replaced by an empty one; the damage, and the
 * old file's new path.
 */
export type TelemetryEvents = { readonly renewed: readonly [reason: string, kept: string] };

/**
 * No answer to a query depends on the file: a damaged one is set aside, and the call repeated on an
 * empty one.
 */
serve<TelemetryDatabase, TelemetryFile, TelemetryEvents>({
  make: (file) => new TelemetryDatabase(file),
  close: (database) => database.close(),
  renewal: {
    isFor: isDamage,
    prepare: (damage, { path }, emit) => emit("renewed", errorText(damage), setAside(path)),
  },
});
