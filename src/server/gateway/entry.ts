/** The entry of a request, by whatever protocol: where it may go, and as what it goes on. */

import type { HeadField } from "../http1/head.ts";
import { type AdmissionParts, type Admitted, admit } from "./admission.ts";
import type { SeenRequest } from "./gateway-meter.ts";
import type { HopRequest, Hops } from "./hops.ts";
import { hopFields, requestFields, type Sender } from "./passed-fields.ts";

/** A request that may pass, as it goes on. */
export interface Entered {
  readonly admitted: Admitted;
  /** Path and query for the route's server, or for the gateway of the node that has it. */
  readonly target: string;
  /** What was taken from the front of the path; empty = nothing. */
  readonly prefix: string;
  readonly fields: readonly HeadField[];
}

/** Admits a request, and notes its route and client. Rejects with Refused, and as `admit` does. */
export async function enter(
  parts: AdmissionParts & { readonly hops: Hops },
  { fields, request, sender }: { readonly request: HopRequest; readonly fields: readonly HeadField[]; readonly sender: Sender },
  seen: SeenRequest,
): Promise<Entered> {
  const { host, target } = request;
  const hop = parts.hops.read(request, fields);
  const from = hop?.sender ?? sender;
  const admitted = await admit(parts, { host, target, fields, sender: from, hop }, (route) => {
    seen.route = route;
  });
  const { clientId, prefix, route } = admitted;
  if (clientId !== undefined) seen.clientId = clientId;
  if (route.node !== undefined) {
    const field = parts.hops.field(request, { label: route.label, prefix, sender }, route.node);
    return { admitted, target, prefix: "", fields: hopFields(fields, host, field) };
  }
  const passed = requestFields({ fields, sender: from, host, prefix, isAuthenticated: route.isAuthenticated });
  return { admitted, target: admitted.target, prefix, fields: passed };
}
