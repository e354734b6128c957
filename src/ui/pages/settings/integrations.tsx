import type { IntegrationJson } from "../../../../gen/svc/v1/integration_pb.ts";
import { escapeControls } from "../../../domain/name.ts";
import { visibleLines } from "../../../domain/visible.ts";
import { CallError, call } from "../../api/call.ts";
import { useAnswer } from "../../api/load.ts";
import { Action } from "../../app/action.tsx";
import { useCommand } from "../../app/command.ts";
import { environmentScope } from "../../app/who.ts";
import { Command } from "../../parts/command.tsx";
import { Empty } from "../../parts/empty.tsx";
import { Loading } from "../../parts/loading.tsx";
import { Time } from "../../parts/time.tsx";
import { type Column, WindowTable } from "../../parts/window-table.tsx";

/** What other systems are reached with: variables that sources and resolvers are given. */
export default function Integrations() {
  const answer = useAnswer("IntegrationService/ListIntegrations", {}, environmentScope.value);
  const columns: readonly Column<IntegrationJson>[] = [
    { name: "name", title: "Name", width: "12rem", cell: ({ name = "" }) => escapeControls(name) },
    { name: "kind", title: "Kind", width: "9rem", cell: ({ kind = "" }) => escapeControls(kind) },
    { name: "variables", title: "Variables", width: "20rem", cell: (row) => <Variables of={row} /> },
    { name: "updated", title: "Set", width: "11rem", cell: ({ updatedAt }) => <Time at={updatedAt} /> },
    {
      name: "actions",
      title: "Actions",
      width: "11rem",
      cell: ({ name = "" }) => (
        <span class="actions">
          <Test name={name} />
          <Delete name={name} onDone={answer.reload} />
        </span>
      ),
    },
  ];
  return (
    <Loading of={answer} lines={4}>
      {({ integrations = [] }) =>
        integrations.length === 0 ? (
          <Empty command="svc integration insert">There are none yet. Sources find the settings of their databases in them:</Empty>
        ) : (
          <WindowTable label="Integrations" columns={columns} rows={integrations} keyOf={({ name = "" }) => name} />
        )
      }
    </Loading>
  );
}

function Variables({ of: { problem = "", secrets = [] } }: { readonly of: IntegrationJson }) {
  if (problem !== "") return <span class="wrapped bad">{visibleLines(problem)}</span>;
  return <code class="wrapped">{escapeControls(secrets.join(", "))}</code>;
}

function Test({ name }: { readonly name: string }) {
  const command = useCommand();
  const test = async () => {
    const { message = "", status } = await call("IntegrationService/TestIntegration", { name }, environmentScope.value);
    if (status === "INTEGRATION_TEST_STATUS_FAILED") throw new CallError("failed_precondition", `${name} cannot be used: ${message}`);
    return status === "INTEGRATION_TEST_STATUS_OK" ? `${name} answered.` : `${name} was not tested: ${message}`;
  };
  return (
    <Action verb="Test" question={`Test ${escapeControls(name)}?`} permission="secrets.write" act={test}>
      <p>The server makes one call of the system that it reaches, which changes nothing there.</p>
      <Command line={command("integration", "test", name)} />
    </Action>
  );
}

function Delete({ name, onDone }: { readonly name: string; readonly onDone: () => void }) {
  const remove = async () => {
    const { approvalId = "" } = await call("IntegrationService/DeleteIntegrations", { names: [name] }, environmentScope.value);
    return approvalId === "" ? `${name} is deleted.` : `Another person has to approve it: ${approvalId}.`;
  };
  return (
    <Action verb="Delete" question={`Delete ${escapeControls(name)}?`} permission="secrets.write" typed={name} act={remove} onDone={onDone}>
      <p>Sources and resolvers that are given its variables fail from then on.</p>
    </Action>
  );
}
