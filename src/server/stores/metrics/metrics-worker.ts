/**
 * Worker thread that owns the file of metrics: it writes, thins and reads, so that none of that
 * delays a query.
 */

import { errorText } from "../../../domain/error-text.ts";
import { serve } from "../../thread/rpc.ts";
import { isDamage, setAside } from "../sqlite/open.ts";
import { MetricDatabase, type MetricFile } from "./database.ts";

/**
 * Events of the thread. `renewed`: a damaged file was replaced by an empty one; the damage, and the
 * old file's new path.
 */
export type MetricEvents = { readonly renewed: readonly [reason: string, kept: string] };

/**
 * No answer to a query depends on the file: a damaged one is set aside, and the call repeated on an
 * empty one. A histogram that cannot be read is damage too.
 */
serve<MetricDatabase, MetricFile, MetricEvents>({
  make: (file) => new MetricDatabase(file),
  close: (database) => database.close(),
  renewal: {
    isFor: (error) => isDamage(error) || error instanceof RangeError,
    prepare: (damage, { path }, emit) => emit("renewed", errorText(damage), setAside(path)),
  },
});
