/**
 * Hops: requests that the gateway of one node passes to that of another, which has what they go to.
 * What the first one knows of a request is signed by the keys that nodes share, so that nobody else
 * can say it; and a request that was passed on is never passed on again.
 */

import type { Clock } from "../../context/clock.ts";
import { isJsonObject } from "../../domain/json-value.ts";
import { isSignedBy, type KeyRing, signWith } from "../access/keys.ts";
import { type HeadField, valuesOf } from "../http1/head.ts";
import { HOP_FIELD, type Sender } from "./passed-fields.ts";
import { Refused } from "./refused.ts";

/** Milliseconds that a signature is good for; clocks of nodes differ by less. */
const HOP_MS = 60_000;

/** A request, as far as a signature holds for it alone. */
export interface HopRequest {
  readonly method: string;
  /** As it came, with its prefix. */
  readonly target: string;
  readonly host: string;
}

/** What the first gateway knows of a request. */
export interface Hop {
  /** Of its route. */
  readonly label: string;
  /** What names the route at the front of its path; empty = nothing. */
  readonly prefix: string;
  /** Who sends it to the first gateway. */
  readonly sender: Sender;
}

/** Hops of this node. */
export interface Hops {
  /** The field of a request that goes to another node. */
  field(request: HopRequest, hop: Hop, node: string): HeadField;
  /** What a request says that was passed on; undefined = it was not. Throws Refused. */
  read(request: HopRequest, fields: readonly HeadField[]): Hop | undefined;
}

/** Makes hops. @param options.node id of this node */
export function createHops({ clock, keys, node }: { readonly keys: KeyRing; readonly node: string; readonly clock: Clock }): Hops {
  const parts = (text: string, { host, method, target }: HopRequest): string[] => ["hop", text, method, target, host];
  return {
    field(request, { label, prefix, sender }, to) {
      const content = { from: node, to, label, prefix, peer: sender.peer, encrypted: sender.isEncrypted, at: clock.now() };
      const text = Buffer.from(JSON.stringify(content)).toBase64({ alphabet: "base64url", omitPadding: true });
      return [HOP_FIELD, `${text}.${signWith(keys, parts(text, request))}`];
    },
    read(request, fields) {
      const [value, ...others] = valuesOf(fields, HOP_FIELD);
      if (value === undefined) return undefined;
      const [, text = "", signature = ""] = /^([\w-]{1,4096})\.(.{1,200})$/.exec(value) ?? [];
      if (others.length > 0 || text === "" || !isSignedBy(keys, parts(text, request), signature))
        throw new Refused(
          403,
          `No node of this platform signed the header ${HOP_FIELD}, by which gateways pass requests on.`,
          "Nodes have the same keys: SVC_SERVER_KEY_FILE, or SVC_SERVER_KEY, of each of them.",
        );
      const content: unknown = JSON.parse(Buffer.from(text, "base64url").toString());
      const { at, encrypted, label, peer, prefix, to } = isJsonObject(content) ? content : {};
      if (typeof label !== "string" || typeof prefix !== "string" || typeof peer !== "string" || typeof at !== "number")
        throw new Refused(400, `The header ${HOP_FIELD} is of another version of the platform.`);
      if (to !== node)
        throw new Refused(
          421,
          `The gateway of another node passed this request on to the node ${String(to)}, and it came to ${node}.`,
          "SVC_GATEWAY_ADDRESS of each node is where the others reach the gateway of that node, and of no other.",
        );
      if (Math.abs(clock.now() - at) > HOP_MS)
        throw new Refused(403, "The request was passed on more than a minute ago, or the clocks of the two nodes differ by as much.");
      return { label, prefix, sender: { peer, isEncrypted: encrypted === true } };
    },
  };
}
