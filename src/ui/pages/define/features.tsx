import { useMemo } from "preact/hooks";
import type { FeatureMetadataJson } from "../../../../gen/svc/v1/graph_pb.ts";
import { escapeControls } from "../../../domain/name.ts";
import { useAnswer } from "../../api/load.ts";
import { useCommand } from "../../app/command.ts";
import { href, queried, scope, setQueried } from "../../app/place.ts";
import { Badge } from "../../parts/badge.tsx";
import { Empty } from "../../parts/empty.tsx";
import { Loading } from "../../parts/loading.tsx";
import { Page } from "../../parts/page.tsx";
import { SearchBox } from "../../parts/search-box.tsx";
import { type Column, sorted, WindowTable } from "../../parts/window-table.tsx";
import { routeOf } from "../../routes.ts";
import { type FoundFeature, searchable, searchFeatures } from "./feature-search.ts";
import { cachedFor, durationMs, featureKind, featureType } from "./feature-text.ts";

const COLUMNS: readonly Column<FoundFeature>[] = [
  { name: "name", title: "Feature", width: "16rem", cell: (row) => <Name row={row} />, sort: ({ fqn }) => fqn },
  { name: "kind", title: "Kind", width: "7rem", cell: of(featureKind), sort: ({ metadata }) => featureKind(metadata.feature ?? {}) },
  { name: "type", title: "Type", width: "7rem", cell: of(featureType), sort: ({ metadata }) => featureType(metadata.feature ?? {}) },
  {
    name: "cached",
    title: "Cached for",
    width: "7rem",
    isNumber: true,
    cell: of(cachedFor),
    sort: ({ metadata }) => durationMs(metadata.feature?.maxStaleness),
  },
  {
    name: "resolver",
    title: "Resolvers",
    cell: ({ metadata }) => (metadata.resolvers ?? []).map(escapeControls).join(", "),
    sort: ({ metadata }) => metadata.resolvers?.[0] ?? "",
  },
  {
    name: "owner",
    title: "Owner",
    width: "8rem",
    cell: ({ metadata }) => escapeControls(metadata.feature?.owner ?? ""),
    sort: ({ metadata }) => metadata.feature?.owner ?? "",
  },
  {
    name: "tag",
    title: "Tags",
    width: "9rem",
    cell: ({ metadata }) => metadata.feature?.tags?.map((tag) => <Badge key={tag} text={tag} />),
  },
];

/** Columns that are left out when no feature has anything there. */
const isOptional = (name: string): name is "owner" | "tag" => name === "owner" || name === "tag";

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

function FeatureList({ features }: { readonly features: readonly FeatureMetadataJson[] }) {
  const all = useMemo(() => features.map(searchable), [features]);
  const [search, sort] = [queried("q"), queried("sort") || "name"];
  const columns = useMemo(() => COLUMNS.filter(({ name }) => !isOptional(name) || all.some(({ texts }) => texts[name] !== "")), [all]);
  const ordered = useMemo(() => sorted(all, COLUMNS, sort), [all, sort]);
  const rows = useMemo(() => searchFeatures(ordered, search), [ordered, search]);
  return (
    <>
      <SearchBox
        label="Search features"
        placeholder="name, owner: tag: type: kind: resolver:"
        value={search}
        onSearch={(q) => setQueried({ q })}
        found={`${rows.length} of ${all.length}`}
      />
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
