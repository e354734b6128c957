/**
 * Sealing anew: what an older key sealed is sealed with the server's first key, so that the older
 * key can be removed.
 */

import type { RecurringJob } from "../jobs/recurring.ts";
import type { Connections } from "./create-connections.ts";

/** The job that seals anew the secrets of accounts and connections. */
export function connectionResealing(connections: () => Promise<Pick<Connections, "reseal">>): RecurringJob {
  return {
    kind: "reseal-connections",
    schedule: "1h",
    run: async (signal) => {
      await (await connections()).reseal(signal);
    },
  };
}
