/** Sandboxes as tables and lines. */

import type { Sandbox } from "../../../gen/svc/v1/sandbox_pb.ts";
import type { FieldViews } from "../../output/message-view.ts";
import { age } from "../../output/time.ts";
import { containerState, useText } from "../container/container-view.ts";

/** Columns of a list. */
export const SANDBOX_COLUMNS: FieldViews<Sandbox> = {
  id: "ID",
  name: "Name",
  image: { header: "Image", flexible: true },
  status: { header: "Status", cell: containerState },
  createdAt: { header: "Created", cell: ({ createdAt }, style) => age(createdAt, style) },
};

/** All that people see of one. */
export const SANDBOX_FIELDS: FieldViews<Sandbox> = {
  id: "ID",
  name: "Name",
  image: "Image",
  status: { header: "Status", cell: containerState },
  message: { header: "Message", ifAny: true },
  cpu: "CPU",
  memory: "Memory",
  use: { header: "Uses", cell: useText, ifAny: true },
  environment: { header: "Variables", cell: ({ environment }) => environment.map(({ name }) => name).join(", "), ifAny: true },
  createdAt: "Created",
  endedAt: { header: "Ended", ifAny: true },
  node: "Node",
  url: { header: "Page", ifAny: true },
};
