import type { PlanStageJson, PlanStageRowJson } from "../../../../gen/svc/v1/query_pb.ts";
import { escapeControls, readableName } from "../../../domain/name.ts";
import { visibleLines } from "../../../domain/visible.ts";
import { useAnswer } from "../../api/load.ts";
import { usePages } from "../../api/pages.ts";
import { useCommand } from "../../app/command.ts";
import { href } from "../../app/place.ts";
import { environmentScope } from "../../app/who.ts";
import { Empty } from "../../parts/empty.tsx";
import { Facts } from "../../parts/facts.tsx";
import { Loading } from "../../parts/loading.tsx";
import { Page } from "../../parts/page.tsx";
import { Paged } from "../../parts/paged.tsx";
import { plainOf } from "../../parts/proto-value.ts";
import { Value } from "../../parts/values.tsx";
import { type Column, WindowTable } from "../../parts/window-table.tsx";
import type { PageProps } from "../../routes.ts";
import { StageProvider } from "./run-parts.tsx";

const PAGE_SIZE = 200;
/** Rows may be equal and never move: none is another one. */
const apart = (): string => String(Math.random());

/** What one step of a query's plan gave, row by row. */
export default function QueryRunStage({ place }: PageProps<"queryRunStage">) {
  const command = useCommand();
  const { id, stage } = place.params;
  const answer = useAnswer("QueryService/GetQueryRunStages", { queryId: id }, environmentScope.value);
  const found = answer.data?.stages?.find((one) => String(one.stage ?? 0) === stage);
  return (
    <Page title={`Stage ${stage}`} command={command("queries", "get", id)}>
      {answer.error?.code === "not_found" || (answer.data && !found) ? (
        <Empty command={command("queries", "list")}>
          No such stage: it is of another server or environment, or the run is older than the log. The runs that there are:
        </Empty>
      ) : (
        <Loading of={answer}>{() => found && <Content id={id} stage={found} />}</Loading>
      )}
    </Page>
  );
}

function Content({ id, stage: own }: { readonly id: string; readonly stage: PlanStageJson }) {
  const { columns = [], kind = "", omitted = "", path = "", provider = "", rows = 0, stage = 0 } = own;
  return (
    <>
      <Facts
        facts={[
          [
            "Query run",
            <a key="" class="name" href={href("queryRun", { id })}>
              {escapeControls(id)}
            </a>,
          ],
          ["Step", escapeControls(kind)],
          ["Provider", provider !== "" && <StageProvider key="" stage={own} />],
          ["Rows of", path !== "" && escapeControls(path)],
          ["Rows", String(rows)],
          ["Not kept", omitted !== "" && escapeControls(omitted)],
        ]}
      />
      {omitted === "" && <Rows id={id} stage={stage} columns={columns} />}
    </>
  );
}

function Rows({ id, stage, columns }: { readonly id: string; readonly stage: number; readonly columns: readonly string[] }) {
  const request = { queryId: id, stage, pageSize: PAGE_SIZE };
  const pages = usePages("QueryService/GetQueryRunStageRows", request, environmentScope.value, (page) => page.rows ?? [], apart);
  const shown: readonly Column<{ readonly row: PlanStageRowJson; readonly at: number }>[] = [
    { name: "row", title: "Row", width: "5rem", isNumber: true, cell: ({ row: { row = 0 } }) => row },
    ...columns.map((name, place) => ({
      name: `column ${place}`,
      title: escapeControls(readableName(name)),
      cell: ({ row: { errors = {}, values = [] } }: { readonly row: PlanStageRowJson }) =>
        errors[name] === undefined ? (
          <Value value={plainOf(values[place])} />
        ) : (
          <span class="bad" title={visibleLines(errors[name])}>
            {visibleLines(errors[name])}
          </span>
        ),
    })),
  ];
  return (
    <Paged of={pages} things="rows" empty={<p class="dim">The step gave no rows.</p>}>
      {(rows) => <WindowTable label="Rows" columns={shown} rows={rows.map((row, at) => ({ row, at }))} keyOf={({ at }) => String(at)} />}
    </Paged>
  );
}
