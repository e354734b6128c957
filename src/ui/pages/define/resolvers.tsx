import { useMemo } from "preact/hooks";
import type { ResolverJson } from "../../../../gen/svc/v1/graph_pb.ts";
import { escapeControls, readableName } from "../../../domain/name.ts";
import { useAnswer } from "../../api/load.ts";
import { useCommand } from "../../app/command.ts";
import { href, queried, scope, setQueried } from "../../app/place.ts";
import { Empty } from "../../parts/empty.tsx";
import { Loading } from "../../parts/loading.tsx";
import { Page } from "../../parts/page.tsx";
import { SearchBox } from "../../parts/search-box.tsx";
import { type Column, sorted, WindowTable } from "../../parts/window-table.tsx";
import { ResolverLink } from "../run/answer.tsx";
import { useLastDay } from "./last-day.tsx";
import { inputPaths, resolverKind, resolverWords, translationText } from "./resolver-text.ts";

const COLUMNS: readonly Column<ResolverJson>[] = [
  { name: "name", title: "Resolver", width: "12rem", cell: ({ fqn = "" }) => <ResolverLink fqn={fqn} />, sort: ({ fqn = "" }) => fqn },
  { name: "kind", title: "Kind", width: "8rem", cell: resolverKind, sort: resolverKind },
  { name: "inputs", title: "Inputs", width: "8rem", cell: (row) => names(inputPaths(row)), sort: (row) => inputPaths(row).length },
  {
    name: "outputs",
    title: "Outputs",
    width: "8rem",
    cell: ({ outputs = [] }) => names(outputs),
    sort: ({ outputs = [] }) => outputs.length,
  },
  {
    name: "runs",
    title: "Computed",
    width: "6.5rem",
    cell: (row) => <span title={escapeControls(translationText(row))}>{escapeControls(translationText(row))}</span>,
    sort: translationText,
  },
  {
    name: "owner",
    title: "Owner",
    width: "6rem",
    cell: ({ owner = "" }) => escapeControls(owner),
    sort: ({ owner = "" }) => owner,
  },
];

function names(paths: readonly string[]): string {
  return paths.map((path) => escapeControls(readableName(path))).join(", ");
}

/** The resolvers of the live deployment, or of the one that the address names. */
export default function Resolvers() {
  const command = useCommand();
  const answer = useAnswer("GraphService/ListResolvers", {}, scope.value);
  return (
    <Page title="Resolvers" command={command("resolvers")}>
      {answer.error?.code === "failed_precondition" ? (
        <Empty command="svc apply">Nothing is deployed here yet. Deploy a project:</Empty>
      ) : (
        <Loading of={answer} lines={12}>
          {({ resolvers = [], sinkResolvers = [], streamResolvers = [] }) => (
            <>
              <ResolverList resolvers={resolvers} />
              {streamResolvers.length > 0 && (
                <p>
                  Messages of topics run {streamResolvers.map(({ fqn = "" }, at) => [at > 0 && ", ", <ResolverLink key={fqn} fqn={fqn} />])}
                  : <a href={href("streams", {}, { deployment: "" })}>streams</a>.
                </p>
              )}
              {sinkResolvers.length > 0 && (
                <p>Rows are handed to {sinkResolvers.map(({ fqn = "" }, at) => [at > 0 && ", ", <ResolverLink key={fqn} fqn={fqn} />])}.</p>
              )}
            </>
          )}
        </Loading>
      )}
    </Page>
  );
}

function ResolverList({ resolvers }: { readonly resolvers: readonly ResolverJson[] }) {
  const all = useMemo(() => resolvers.map((resolver) => ({ resolver, words: resolverWords(resolver) })), [resolvers]);
  const [search, sort] = [queried("q"), queried("sort") || "name"];
  const lastDay = useLastDay<ResolverJson>("resolver", ({ fqn = "" }) => fqn);
  const columns = useMemo(() => COLUMNS.toSpliced(-2, 0, ...lastDay), [lastDay]);
  const rows = useMemo(() => {
    const wanted = search.toLowerCase().split(/\s+/).filter(Boolean);
    const found = all.filter(({ words }) => wanted.every((word) => words.includes(word))).map(({ resolver }) => resolver);
    return sorted(found, columns, sort);
  }, [all, columns, search, sort]);
  return (
    <>
      <SearchBox
        label="Search resolvers"
        placeholder="name, feature, owner, tag"
        value={search}
        onSearch={(q) => setQueried({ q })}
        found={`${rows.length} of ${all.length}`}
      />
      {rows.length === 0 ? (
        <Empty>{all.length === 0 ? "The deployment has no resolvers." : "No resolver fits all words of the search."}</Empty>
      ) : (
        <WindowTable
          label="Resolvers"
          columns={columns}
          rows={rows}
          keyOf={({ fqn = "" }) => fqn}
          sort={sort}
          onSort={(next) => setQueried({ sort: next === "name" ? "" : next })}
        />
      )}
    </>
  );
}
