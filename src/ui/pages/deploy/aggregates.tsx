import type { AggregateSeriesJson } from "../../../../gen/svc/v1/aggregate_pb.ts";
import { escapeControls } from "../../../domain/name.ts";
import { useAnswer } from "../../api/load.ts";
import { useCommand } from "../../app/command.ts";
import { useLive } from "../../app/live.ts";
import { environmentScope } from "../../app/who.ts";
import { Bytes } from "../../parts/bytes.tsx";
import { Code } from "../../parts/code.tsx";
import { Empty } from "../../parts/empty.tsx";
import { Loading } from "../../parts/loading.tsx";
import { Page } from "../../parts/page.tsx";
import { Time } from "../../parts/time.tsx";
import { type Column, WindowTable } from "../../parts/window-table.tsx";
import { FeatureLink } from "../define/feature-link.tsx";
import { BackfillAggregate } from "./aggregate-backfill.tsx";
import { bucketText, seriesText } from "./aggregate-text.ts";

/** A kept window as the empty page shows it. */
const EXAMPLE = `spend: Windowed[int] = windowed(
    "30d",
    expression=_.payments[_.amount, _.at > _.svc_window, _.at <= _.svc_now].sum(),
    materialization=True,
)`;
/** Of rows with four lines. */
const ROW_HEIGHT = 112;

const COLUMNS: readonly Column<AggregateSeriesJson>[] = [
  {
    name: "features",
    title: "Features",
    width: "16rem",
    cell: (series) => (
      <>
        <span class="wrapped">
          {(series.dependentFeatures ?? []).map((fqn, at) => [at > 0 && ", ", <FeatureLink key={fqn} fqn={fqn} />])}
        </span>
        <br />
        <span class="wrapped dim">{escapeControls(seriesText(series))}</span>
      </>
    ),
  },
  { name: "bucket", title: "Buckets", width: "6.5rem", cell: (series) => <span class="wrapped">{bucketText(series)}</span> },
  {
    name: "tiles",
    title: "Tiles",
    width: "8rem",
    isNumber: true,
    cell: ({ bytes = "0", groups = "0", tiles = "0" }) => (
      <>
        {tiles}
        <br />
        <span class="dim">
          {groups} {groups === "1" ? "group" : "groups"}, <Bytes count={Number(bytes)} />
        </span>
      </>
    ),
  },
  { name: "filled", title: "Filled", width: "13.5rem", cell: (series) => <Filled series={series} /> },
  {
    name: "schedule",
    title: "Backfills",
    width: "13rem",
    cell: ({ nextBackfillAt, schedule = "" }) =>
      schedule === "" ? (
        <span class="dim">by hand</span>
      ) : (
        <>
          <code>{escapeControls(schedule)}</code>
          {nextBackfillAt !== undefined && (
            <>
              <br />
              next <Time at={nextBackfillAt} />
            </>
          )}
        </>
      ),
  },
  { name: "actions", title: "Actions", width: "7rem", cell: (series) => <BackfillAggregate series={series} /> },
];

/** Aggregates that are kept in tiles: how far each series is filled, and its backfills. */
export default function Aggregates() {
  const command = useCommand();
  const answer = useAnswer("AggregateService/ListAggregates", {}, environmentScope.value);
  useLive(["runs", "deployments", "streams"], answer.reload);
  return (
    <Page title="Kept aggregates" command={command("aggregate", "list")}>
      {answer.error?.code === "failed_precondition" ? (
        <Empty command="svc apply">Nothing is deployed here yet. Which aggregates are kept is part of a project.</Empty>
      ) : (
        <Loading of={answer}>
          {({ series: rows = [] }) =>
            rows.length === 0 ? (
              <>
                <Empty command="svc apply">No window is kept: each is computed of its rows when it is asked for. One that is kept:</Empty>
                <Code text={EXAMPLE} language="python" file="features.py" />
              </>
            ) : (
              <>
                <p>
                  Queries merge the tiles of the time that is filled. They read the rows after it, and those of a window's edges, one by
                  one.
                </p>
                <WindowTable
                  label="Kept aggregates"
                  columns={COLUMNS}
                  rows={rows}
                  rowHeight={ROW_HEIGHT}
                  keyOf={({ series = "" }) => series}
                />
              </>
            )
          }
        </Loading>
      )}
    </Page>
  );
}

function Filled({ series: { filledFrom, filledUntil } }: { readonly series: AggregateSeriesJson }) {
  if (filledUntil === undefined) return <span class="dim">never</span>;
  return (
    <>
      {filledFrom === undefined ? (
        "from the beginning"
      ) : (
        <>
          from <Time at={filledFrom} />
        </>
      )}
      <br />
      until <Time at={filledUntil} />
    </>
  );
}
