import type { BranchJson } from "../../../../gen/svc/v1/deployment_pb.ts";
import { escapeControls } from "../../../domain/name.ts";
import { call } from "../../api/call.ts";
import { useAnswer } from "../../api/load.ts";
import { Action } from "../../app/action.tsx";
import { useCommand } from "../../app/command.ts";
import { useLive } from "../../app/live.ts";
import { href } from "../../app/place.ts";
import { environmentScope } from "../../app/who.ts";
import { Empty } from "../../parts/empty.tsx";
import { Loading } from "../../parts/loading.tsx";
import { Page } from "../../parts/page.tsx";
import { Time } from "../../parts/time.tsx";
import { type Column, WindowTable } from "../../parts/window-table.tsx";
import { DeploymentLink } from "./deployment-link.tsx";

/** The branches of the environment: scopes of their own, with deployments and values apart. */
export default function Branches() {
  const command = useCommand();
  const answer = useAnswer("DeploymentService/ListBranches", {}, environmentScope.value);
  useLive(["deployments"], answer.reload);
  const columns: readonly Column<BranchJson>[] = [
    {
      name: "name",
      title: "Branch",
      width: "12rem",
      cell: ({ name = "" }) => (
        <a href={href("overview", {}, { branch: name, deployment: "" })} class="name">
          {escapeControls(name)}
        </a>
      ),
    },
    { name: "deploys", title: "Deployments", width: "8rem", isNumber: true, cell: ({ deploys = 0 }) => deploys },
    { name: "last", title: "Last deployed", width: "11rem", cell: ({ lastDeployedAt }) => <Time at={lastDeployedAt} /> },
    {
      name: "latest",
      title: "Latest deployment",
      width: "19rem",
      cell: ({ latestDeploymentId: id = "" }) => id !== "" && <DeploymentLink id={id} />,
    },
    { name: "delete", title: "Actions", width: "7rem", cell: ({ name = "" }) => <Delete name={name} onDone={answer.reload} /> },
  ];
  return (
    <Page title="Branches" command={command("branch", "list")}>
      <Loading of={answer} lines={6}>
        {({ branches = [] }) =>
          branches.length === 0 ? (
            <Empty command="svc apply --branch NAME">
              There are none yet. A project is tried out in one without touching what is live:
            </Empty>
          ) : (
            <WindowTable label="Branches" columns={columns} rows={branches} keyOf={({ name = "" }) => name} />
          )
        }
      </Loading>
    </Page>
  );
}

function Delete({ name, onDone }: { readonly name: string; readonly onDone: () => void }) {
  const remove = async () => {
    const { deployments = 0 } = await call("DeploymentService/DeleteBranch", { branch: name }, environmentScope.value);
    return `Branch ${name} is deleted, with ${deployments} deployments.`;
  };
  return (
    <Action
      verb="Delete"
      question={`Delete branch ${escapeControls(name)}?`}
      permission="deploy"
      typed={name}
      words={["branch", "delete", name]}
      act={remove}
      onDone={onDone}
    >
      <p>Its deployments and its online values are deleted with it.</p>
    </Action>
  );
}
