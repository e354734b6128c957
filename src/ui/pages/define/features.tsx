import { useMemo } from "preact/hooks";
import type { FeatureMetadataJson } from "../../../../gen/svc/v1/graph_pb.ts";
import { csvText } from "../../../domain/csv.ts";
import { escapeControls } from "../../../domain/name.ts";
import { useAnswer } from "../../api/load.ts";
import { useSteady } from "../../api/steady.ts";
import { now } from "../../app/clock.ts";
import { useCommand } from "../../app/command.ts";
import { useLive } from "../../app/live.ts";
import { href, queried, scope, setQueried } from "../../app/place.ts";
import { environmentScope } from "../../app/who.ts";
import { Badge } from "../../parts/badge.tsx";
import { ColumnChoice, shownColumns } from "../../parts/column-choice.tsx";
import { durationText } from "../../parts/duration.tsx";
import { Empty } from "../../parts/empty.tsx";
import { figureText } from "../../parts/figure-text.ts";
import { Loading } from "../../parts/loading.tsx";
import { Page } from "../../parts/page.tsx";
import { saveText } from "../../parts/save-text.ts";
import { SearchBox } from "../../parts/search-box.tsx";
import { type Column, sorted, WindowTable } from "../../parts/window-table.tsx";
import { routeOf } from "../../routes.ts";
import { type FoundFeature, featureSearchProblem, searchable, searchFeatures } from "./feature-search.ts";
import { cachedFor, durationMs, featureKind, featureType } from "./feature-text.ts";
import { featureUses, shareText } from "./feature-use.ts";

const DAY_MS = 86_400_000;
/** Milliseconds for which the same day is asked for. */
const STEP_MS = 600_000;

const COLUMNS: readonly Column<FoundFeature>[] = [
  { name: "name", title: "Feature", width: "12rem", cell: (row) => <Name row={row} />, sort: ({ fqn }) => fqn },
  { name: "kind", title: "Kind", width: "7.5rem", cell: of(featureKind), sort: ({ metadata }) => featureKind(metadata.feature ?? {}) },
  { name: "type", title: "Type", width: "4.5rem", cell: of(featureType), sort: ({ metadata }) => featureType(metadata.feature ?? {}) },
  {
    name: "asked",
    title: "Asked, 24 h",
    width: "6rem",
    isNumber: true,
    cell: ({ use }) => use && figureText(use.requests),
    sort: ({ use }) => use?.requests ?? -1,
  },
  {
    name: "nulls",
    title: "Null",
    width: "4rem",
    isNumber: true,
    cell: ({ use }) => use?.nullShare !== undefined && shareText(use.nullShare),
    sort: ({ use }) => use?.nullShare ?? -1,
  },
  {
    name: "age",
    title: "Age",
    width: "4.5rem",
    isNumber: true,
    cell: ({ use }) => use?.ageSeconds !== undefined && durationText(use.ageSeconds * 1_000),
    sort: ({ use }) => use?.ageSeconds ?? -1,
  },
  {
    name: "cached",
    title: "Cached for",
    width: "6rem",
    isNumber: true,
    cell: of(cachedFor),
    sort: ({ metadata }) => durationMs(metadata.feature?.maxStaleness),
  },
  {
    name: "resolver",
    title: "Providers",
    width: "9.5rem",
    cell: ({ metadata }) => (metadata.resolvers ?? []).map(escapeControls).join(", "),
    sort: ({ metadata }) => metadata.resolvers?.[0] ?? "",
  },
  {
    name: "owner",
    title: "Owner",
    width: "5.5rem",
    cell: ({ metadata }) => escapeControls(metadata.feature?.owner ?? ""),
    sort: ({ metadata }) => metadata.feature?.owner ?? "",
  },
  {
    name: "tag",
    title: "Tags",
    width: "5.5rem",
    cell: ({ metadata }) => metadata.feature?.tags?.map((tag) => <Badge key={tag} text={tag} />),
  },
];

/** Columns that are left out when no feature has anything there. */
const isOptional = (name: string): name is "owner" | "tag" => name === "owner" || name === "tag";

/** How a feature is written to a file, by the names of its columns. */
function csvOf(rows: readonly FoundFeature[]): string {
  const head = ["fqn", "kind", "type", "asked_24h", "null_share", "age_seconds", "max_staleness_seconds", "resolvers", "owner", "tags"];
  const lines = rows.map(({ metadata: { feature = {}, resolvers = [] }, use }) => {
    const cached = durationMs(feature.maxStaleness);
    const figures = [use?.requests, use?.nullShare, use?.ageSeconds, cached === 0 ? undefined : cached / 1_000];
    const tags = feature.tags ?? [];
    return [
      feature.fqn ?? "",
      featureKind(feature),
      featureType(feature),
      ...figures.map((figure) => (figure === undefined ? "" : String(figure))),
      ...[resolvers.join(" "), feature.owner ?? "", tags.join(" ")],
    ];
  });
  return csvText([head, ...lines]);
}

/** The features of the live deployment, or of the one that the address names. */
export default function Features() {
  const command = useCommand();
  const answer = useAnswer("GraphService/ListFeatures", {}, scope.value);
  const isEmpty = answer.error?.code === "failed_precondition";
  return (
    <Page title="Features" command={command("features", "list")}>
      {isEmpty ? (
        <Empty command="svc apply">Nothing is deployed here yet. Deploy a project:</Empty>
      ) : (
        <Loading of={answer} lines={12}>
          {({ features = [] }) => <FeatureList features={features} />}
        </Loading>
      )}
    </Page>
  );
}

/**
 * How queries of the last day used features; `uses` is undefined while it is asked for
 * (`isPending`), and when it cannot be had.
 */
function useFeatureUses() {
  const { branch } = scope.value;
  const filter = branch === "" ? "" : `{branch:${JSON.stringify(branch)}}`;
  const startTime = new Date(Math.floor(now.value / STEP_MS) * STEP_MS - DAY_MS).toISOString();
  const answers = ["sum:feature.request_count", "sum:feature.null", "p50:feature.age"].map((metric) => {
    const expression = `${metric}${filter} by {feature}.rollup(1h)`;
    return useSteady(useAnswer("MetricService/QueryMetric", { expression, startTime }, environmentScope.value));
  });
  useLive(["metrics"], () => {
    for (const { reload } of answers) reload();
  });
  const isPending = answers.some(({ data, error }) => data === undefined && error === undefined);
  const [requests, nulls, ages] = answers.map(({ data }) => data);
  const uses = useMemo(
    () => (requests && nulls && ages ? featureUses(requests.series ?? [], nulls.series ?? [], ages.series ?? []) : undefined),
    [requests, nulls, ages],
  );
  return { uses, isPending };
}

function FeatureList({ features }: { readonly features: readonly FeatureMetadataJson[] }) {
  const { uses, isPending } = useFeatureUses();
  const all = useMemo(() => features.map((metadata) => searchable(metadata, uses?.of(metadata.feature?.fqn ?? ""))), [features, uses]);
  const [search, sort] = [queried("q"), queried("sort") || "name"];
  const offered = useMemo(() => COLUMNS.filter(({ name }) => !isOptional(name) || all.some(({ texts }) => texts[name] !== "")), [all]);
  const columns = shownColumns(offered, queried("without"));
  const ordered = useMemo(() => sorted(all, COLUMNS, sort), [all, sort]);
  const rows = useMemo(() => searchFeatures(ordered, search), [ordered, search]);
  return (
    <>
      <SearchBox
        label="Search features"
        placeholder="name, owner: tag: type: kind: resolver: stale:1h unused:"
        value={search}
        onSearch={(q) => setQueried({ q })}
        problem={featureSearchProblem(search)}
        found={`${rows.length} of ${all.length}`}
      />
      <div class="range-row">
        <ColumnChoice columns={offered} hidden={queried("without")} onChoose={(next) => setQueried({ without: next })} />
        <button type="button" disabled={isPending} onClick={() => saveText("features.csv", "text/csv", csvOf(rows))}>
          Save as CSV
        </button>
      </div>
      {rows.length === 0 ? (
        <Empty>{all.length === 0 ? "The deployment defines no features." : "No feature fits all words of the search."}</Empty>
      ) : (
        <WindowTable
          label="Features"
          columns={columns}
          rows={rows}
          keyOf={({ metadata }) => metadata.feature?.fqn ?? ""}
          sort={sort}
          onSort={(next) => setQueried({ sort: next === "name" ? "" : next })}
        />
      )}
    </>
  );
}

function Name({ row: { fqn, metadata } }: { readonly row: FoundFeature }) {
  const name = escapeControls(fqn);
  const { deprecated, description, fqn: raw = "" } = metadata.feature ?? {};
  return (
    <>
      {routeOf("feature") && raw !== "" ? (
        <a href={href("feature", { fqn: raw })} class="name">
          {name}
        </a>
      ) : (
        <code title={description && escapeControls(description)}>{name}</code>
      )}
      {deprecated && <Badge text="deprecated" tone="warn" />}
    </>
  );
}

/** A cell with a text about the feature. */
function of(text: (feature: NonNullable<FeatureMetadataJson["feature"]>) => string): Column<FoundFeature>["cell"] {
  return ({ metadata }) => escapeControls(text(metadata.feature ?? {}));
}
