/** Scaling groups as tables and lines. */

import type { Container } from "../../../gen/svc/v1/container_pb.ts";
import { type ScalingGroup, ScalingGroupStatus } from "../../../gen/svc/v1/scaling_group_pb.ts";
import type { FieldViews } from "../../output/message-view.ts";
import { age } from "../../output/time.ts";
import { containerState, specText } from "../container/container-view.ts";

const WORDS: Readonly<Record<ScalingGroupStatus, string>> = {
  [ScalingGroupStatus.UNSPECIFIED]: "",
  [ScalingGroupStatus.STARTING]: "Starting",
  [ScalingGroupStatus.READY]: "Ready",
  [ScalingGroupStatus.IDLE]: "Idle",
  [ScalingGroupStatus.FAILED]: "Failed",
};

/** The state of a group in a word. */
export function groupState({ status }: { readonly status: ScalingGroupStatus }): string {
  return WORDS[status] ?? "";
}

/** How many of the replicas that there should be answer. */
function replicasText({ bounds, readyReplicas, wantedReplicas }: ScalingGroup): string {
  const range = bounds ? ` (${bounds.minReplicas} to ${bounds.maxReplicas}, at ${bounds.targetCpu}% CPU)` : "";
  return `${readyReplicas} of ${wantedReplicas}${range}`;
}

/** The state of a replica, and whether it is given requests where that is known. */
function replicaState(replica: Container): string {
  return `${containerState(replica)}${replica.ready === undefined ? "" : replica.ready ? ", ready" : ", not ready"}`;
}

/** Columns of a list. */
export const GROUP_COLUMNS: FieldViews<ScalingGroup> = {
  id: "ID",
  name: "Name",
  status: { header: "Status", cell: groupState },
  spec: { header: "Image", cell: ({ spec }) => spec?.image ?? "", flexible: true },
  readyReplicas: { header: "Replicas", cell: ({ readyReplicas, wantedReplicas }) => `${readyReplicas}/${wantedReplicas}` },
  createdAt: { header: "Created", cell: ({ createdAt }, style) => age(createdAt, style) },
};

/** What is shown at once. */
export const GROUP_SUMMARY: FieldViews<ScalingGroup> = {
  id: "ID",
  name: "Name",
  status: { header: "Status", cell: groupState },
  message: { header: "Message", ifAny: true },
  url: { header: "URL", ifAny: true },
};

/** All that people see of one. */
export const GROUP_FIELDS: FieldViews<ScalingGroup> = {
  ...GROUP_SUMMARY,
  bounds: { header: "Image", cell: ({ spec }) => spec?.image ?? "" },
  spec: { header: "Spec", cell: ({ spec }) => specText(spec) },
  readyReplicas: { header: "Replicas", cell: replicasText },
  replicas: {
    header: "Containers",
    cell: ({ replicas }) => replicas.map((one) => `${one.id} (${replicaState(one)})`).join(", "),
    ifAny: true,
  },
  tags: {
    header: "Tags",
    cell: ({ tags }) =>
      Object.entries(tags)
        .map(([key, value]) => `${key}=${value}`)
        .join(", "),
    ifAny: true,
  },
  createdAt: "Created",
  updatedAt: "Updated",
  pageUrl: { header: "Page", ifAny: true },
};
