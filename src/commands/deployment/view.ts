/** Views of deployments, which the commands about them share. */

import type { Deployment } from "../../../gen/svc/v1/deployment_pb.ts";
import { formatEnum } from "../../contract/contract.ts";
import { type FieldViews, resourceFields } from "../../output/message-view.ts";
import { age } from "../../output/time.ts";

/** The state in a word: `live` for what answers queries, `ready` for what could. */
export function stateText({ live, status }: Deployment): string {
  const name = String(formatEnum("svc.v1.DeploymentStatus", status) ?? "").toLowerCase();
  if (name === "waiting") return "waiting for approval";
  return live ? "live" : name === "live" || name === "inactive" ? "ready" : name;
}

/** What a deployment was made from: the commit, or what its author said. */
function madeFrom({ description, metadata }: Deployment): string {
  const commit = metadata.commit ?? metadata.git_commit ?? metadata.sha;
  return [commit, description.split("\n", 1)[0]].filter(Boolean).join(" ");
}

/** Columns of a list of deployments. */
export const deploymentColumns: FieldViews<Deployment> = {
  id: "ID",
  status: { header: "State", cell: stateText, style: (text, style) => (text === "live" ? style.green(text) : text) },
  tags: "Tags",
  createdAt: { header: "Created", cell: ({ createdAt }, style) => age(createdAt, style) },
  description: { header: "Description", flexible: true, cell: madeFrom },
};

/** All that people see of one deployment. */
const FIELDS: FieldViews<Deployment> = {
  id: "ID",
  status: { header: "State", cell: stateText },
  approvalId: "Approval",
  branch: "Branch",
  tags: "Tags",
  description: "Description",
  metadata: {
    header: "Metadata",
    cell: ({ metadata }) =>
      Object.entries(metadata)
        .map(([name, value]) => `${name}=${value}`)
        .join(", "),
  },
  ciJobUrl: "CI job",
  repositoryUrl: "Repository",
  notebookFiles: { header: "Of notebooks", ifAny: true },
  profiling: "Profiling",
  createdAt: "Created",
  updatedAt: "Updated",
  error: "Error",
  url: "Page",
};

/** The view of an answer with one deployment; JSON is that of the deployment alone. */
export const deploymentView = resourceFields(({ deployment }: { readonly deployment?: Deployment }) => deployment, FIELDS);
