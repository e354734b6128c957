import type { FunctionVersionJson } from "../../../../gen/svc/v1/function_pb.ts";
import { escapeControls } from "../../../domain/name.ts";
import { Status } from "../../parts/status.tsx";
import { Time } from "../../parts/time.tsx";
import type { Column } from "../../parts/window-table.tsx";
import { DeploymentLink } from "../deploy/deployment-link.tsx";

/** What is shown of each version of a function. */
export const VERSION_COLUMNS: readonly Column<FunctionVersionJson>[] = [
  { name: "version", title: "Version", width: "5rem", isNumber: true, cell: ({ version = 0 }) => version },
  { name: "live", title: "Live", width: "6rem", cell: ({ live }) => live && <Status tone="good">live</Status> },
  { name: "signature", title: "Signature", width: "20rem", cell: ({ signature = "" }) => <code>{escapeControls(signature)}</code> },
  {
    name: "deployment",
    title: "Deployment",
    width: "9rem",
    cell: ({ deploymentId: id = "" }) => id !== "" && <DeploymentLink id={id} />,
  },
  { name: "created", title: "Created", width: "8rem", cell: ({ createdAt }) => <Time at={createdAt} /> },
];
