/** Volumes as tables and lines. */

import type { Volume } from "../../../gen/svc/v1/volume_pb.ts";
import { type FieldViews, resourceFields } from "../../output/message-view.ts";
import type { View } from "../../output/view.ts";

/** All that people see of one. */
export const VOLUME_FIELDS: FieldViews<Volume> = {
  id: "ID",
  name: "Name",
  sizeBytes: { header: "Size", cell: ({ sizeBytes }) => (sizeBytes === undefined ? "" : `${sizeBytes} bytes`) },
  usedBy: { header: "Used by", ifAny: true },
  createdAt: "Created",
  node: "Node",
  url: { header: "Page", ifAny: true },
};

/** What was done with a volume, with its id and name. */
export function volumeDone<A extends { readonly volume?: Volume }>(did: string): View<A> {
  return resourceFields<A, Volume>(({ volume }) => volume, { id: did, name: "Name" });
}
