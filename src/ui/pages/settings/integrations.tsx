import type { IntegrationJson } from "../../../../gen/svc/v1/integration_pb.ts";
import { escapeControls } from "../../../domain/name.ts";
import { visibleLines } from "../../../domain/visible.ts";
import { useAnswer } from "../../api/load.ts";
import { href } from "../../app/place.ts";
import { environmentScope } from "../../app/who.ts";
import { Empty } from "../../parts/empty.tsx";
import { Loading } from "../../parts/loading.tsx";
import { Time } from "../../parts/time.tsx";
import { type Column, WindowTable } from "../../parts/window-table.tsx";
import { IntegrationActions, SetIntegration } from "./integration-actions.tsx";

/** What other systems are reached with: variables that sources and resolvers are given. */
export default function Integrations() {
  const answer = useAnswer("IntegrationService/ListIntegrations", {}, environmentScope.value);
  const columns: readonly Column<IntegrationJson>[] = [
    { name: "name", title: "Name", width: "12rem", cell: ({ name = "" }) => escapeControls(name) },
    { name: "kind", title: "Kind", width: "9rem", cell: ({ kind = "" }) => escapeControls(kind) },
    { name: "variables", title: "Variables", width: "20rem", cell: (row) => <Variables of={row} /> },
    { name: "updated", title: "Set", width: "10rem", cell: ({ updatedAt }) => <Time at={updatedAt} /> },
    {
      name: "actions",
      title: "Actions",
      width: "13rem",
      cell: (row) => <IntegrationActions integration={row} onDone={answer.reload} />,
    },
  ];
  return (
    <>
      <SetIntegration onDone={answer.reload} />
      <p>
        Sources take their settings from the integration of their name. <a href={href("sources", {})}>Sources</a>
      </p>
      <Loading of={answer} lines={4}>
        {({ integrations = [] }) =>
          integrations.length === 0 ? (
            <Empty command="svc integration insert">There are none yet. Sources find the settings of their databases in them:</Empty>
          ) : (
            <WindowTable label="Integrations" columns={columns} rows={integrations} keyOf={({ name = "" }) => name} />
          )
        }
      </Loading>
    </>
  );
}

function Variables({ of: { problem = "", secrets = [] } }: { readonly of: IntegrationJson }) {
  if (problem !== "") return <span class="wrapped bad">{visibleLines(problem)}</span>;
  return <code class="wrapped">{escapeControls(secrets.join(", "))}</code>;
}
