import { escapeControls } from "../../../domain/name.ts";
import { useCommand } from "../../app/command.ts";
import { href } from "../../app/place.ts";
import { Badge } from "../../parts/badge.tsx";
import { Command } from "../../parts/command.tsx";
import { Empty } from "../../parts/empty.tsx";
import { Loading } from "../../parts/loading.tsx";
import { Page } from "../../parts/page.tsx";
import { Status } from "../../parts/status.tsx";
import { type Column, WindowTable } from "../../parts/window-table.tsx";
import { IntegrationActions, SetIntegration } from "../settings/integration-actions.tsx";
import { NodeLink } from "./node-links.tsx";
import { SourceLink } from "./source-link.tsx";
import { type Asked, type SourceRow, settingsText, sourceState } from "./source-rows.ts";
import { useSources } from "./use-sources.ts";

/** Users of a source that a row names. */
const MOST_USERS = 3;

/** The sources that resolvers and streams read, and the integrations that they are reached by. */
export default function Sources() {
  const command = useCommand();
  const { askedOf, graph, integrations, rows } = useSources();
  const isNothingLive = graph.error?.code === "failed_precondition";
  return (
    <Page title="Sources" command={command("graph", "--format", "json")}>
      {isNothingLive ? (
        <Empty command="svc apply">Nothing is deployed here yet. Deploy a project:</Empty>
      ) : (
        <Loading of={graph} lines={4}>
          {() =>
            rows.length === 0 ? (
              <Empty command="svc integration insert">
                The project declares no source, and no integration is one. SQL resolvers read what is set here:
              </Empty>
            ) : (
              <WindowTable
                label="Sources"
                columns={columnsOf(askedOf, integrations.reload)}
                rows={rows}
                keyOf={({ name }) => name}
                rowHeight={ROW_HEIGHT}
              />
            )
          }
        </Loading>
      )}
      <h2>Integrations</h2>
      <Command line={command("integration", "list")} />
      <p>
        A source takes the settings of the integration that has its name, in place of those in code.{" "}
        <a href={href("setting", { section: "integrations" }, { deployment: "" })}>All integrations</a>
      </p>
      <SetIntegration onDone={integrations.reload} />
    </Page>
  );
}

/** Of rows with two lines. */
const ROW_HEIGHT = 52;

function columnsOf(askedOf: (name: string) => Asked, reload: () => void): readonly Column<SourceRow>[] {
  return [
    {
      name: "name",
      title: "Source",
      width: "14rem",
      cell: ({ declared, name }) => (
        <>
          <SourceLink name={name} />
          <br />
          <span class="dim">{declared ? escapeControls(settingsText(declared)) : "not declared in the project"}</span>
        </>
      ),
    },
    { name: "kind", title: "Kind", width: "6rem", cell: ({ kind }) => kind },
    { name: "state", title: "Last hour", width: "8rem", cell: (row) => <SourceStatus row={row} asked={askedOf(row.name)} /> },
    {
      name: "integration",
      title: "Integration",
      width: "7rem",
      cell: ({ integration }) => integration && <Badge text={integration.name ?? ""} />,
    },
    {
      name: "users",
      title: "Used by",
      width: "13rem",
      cell: ({ users }) => (
        <>
          {users.slice(0, MOST_USERS).map((node, at) => (
            <span key={node.id}>
              {at > 0 && ", "}
              <NodeLink node={node} />
            </span>
          ))}
          {users.length > MOST_USERS && ` and ${users.length - MOST_USERS} more`}
        </>
      ),
    },
    {
      name: "actions",
      title: "Actions",
      width: "13rem",
      cell: ({ integration }) => integration && <IntegrationActions integration={integration} onDone={reload} />,
    },
  ];
}

/** How a source did in the last hour. */
export function SourceStatus({ asked, row }: { readonly asked: Asked; readonly row: SourceRow }) {
  const [word, tone] = sourceState(row, asked);
  return <Status tone={tone}>{word}</Status>;
}
