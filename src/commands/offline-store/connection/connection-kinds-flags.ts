/** The types of connections, as files have them. */

import { optionalArg } from "../../../cli/flag.ts";
import { CONNECTION_TYPES } from "../../../domain/offline-connection.ts";
import type { ResourceKinds } from "../../settings-flags.ts";

/** The types of connections with their settings. */
export const CONNECTION_KINDS = { key: "type", noun: "connection", table: CONNECTION_TYPES } as const satisfies ResourceKinds;

/** An id that need not be given. */
export const connectionArgs = { id: optionalArg("id or name (osc_...); left out: the active or only one") };
