import { useMemo } from "preact/hooks";
import type { NamedQueryJson } from "../../../../gen/svc/v1/graph_pb.ts";
import { escapeControls, readableName } from "../../../domain/name.ts";
import { useAnswer } from "../../api/load.ts";
import { useCommand } from "../../app/command.ts";
import { href, queried, scope, setQueried } from "../../app/place.ts";
import { Code } from "../../parts/code.tsx";
import { Empty } from "../../parts/empty.tsx";
import { Loading } from "../../parts/loading.tsx";
import { Page } from "../../parts/page.tsx";
import { SearchBox } from "../../parts/search-box.tsx";
import { type Column, sorted, WindowTable } from "../../parts/window-table.tsx";
import { useLastDay } from "./last-day.tsx";

const EXAMPLE = `from svc import NamedQuery

NamedQuery(name="profile", version="1.0.0", input=[User.id], output=[User.name])`;

const COLUMNS: readonly Column<NamedQueryJson>[] = [
  {
    name: "name",
    title: "Name",
    width: "10rem",
    cell: ({ name = "" }) => (
      <a class="name" href={href("namedQuery", { name })}>
        {escapeControls(name)}
      </a>
    ),
    sort: ({ name = "" }) => name,
  },
  {
    name: "version",
    title: "Version",
    width: "5.5rem",
    cell: ({ version = "" }) => escapeControls(version),
    sort: ({ version = "" }) => version,
  },
  { name: "inputs", title: "Inputs", width: "7.5rem", cell: ({ inputs = [] }) => names(inputs), sort: ({ inputs = [] }) => inputs.join() },
  {
    name: "outputs",
    title: "Outputs",
    width: "9rem",
    cell: ({ outputs = [] }) => names(outputs),
    sort: ({ outputs = [] }) => outputs.length,
  },
  { name: "owner", title: "Owner", width: "6rem", cell: ({ owner = "" }) => escapeControls(owner), sort: ({ owner = "" }) => owner },
  { name: "description", title: "Description", width: "11rem", cell: ({ description = "" }) => escapeControls(description) },
];

function names(all: readonly string[]): string {
  return all.map((name) => escapeControls(readableName(name))).join(", ");
}

/** The queries that are stored with the code under names. */
export default function NamedQueries() {
  const command = useCommand();
  const answer = useAnswer("GraphService/ListNamedQueries", {}, scope.value);
  return (
    <Page title="Named queries" command={command("named-query", "list")}>
      {answer.error?.code === "failed_precondition" ? (
        <Empty command="svc apply">Nothing is deployed here yet. Deploy a project:</Empty>
      ) : (
        <Loading of={answer} lines={8}>
          {({ namedQueries = [] }) =>
            namedQueries.length === 0 ? (
              <>
                <Empty command="svc apply">The deployment has no named queries. Put one beside the features, and deploy:</Empty>
                <Code text={EXAMPLE} language="python" file="An example" />
              </>
            ) : (
              <QueryList queries={namedQueries} />
            )
          }
        </Loading>
      )}
    </Page>
  );
}

function QueryList({ queries }: { readonly queries: readonly NamedQueryJson[] }) {
  const [search, sort] = [queried("q"), queried("sort") || "name"];
  const lastDay = useLastDay<NamedQueryJson>("query", ({ name = "" }) => name);
  const columns = useMemo(() => COLUMNS.toSpliced(-2, 0, ...lastDay), [lastDay]);
  const rows = useMemo(() => {
    const wanted = search.toLowerCase().split(/\s+/).filter(Boolean);
    return sorted(
      queries.filter((query) => wanted.every((word) => wordsOf(query).includes(word))),
      columns,
      sort,
    );
  }, [columns, queries, search, sort]);
  return (
    <>
      <SearchBox
        label="Search named queries"
        placeholder="name, feature, owner, tag"
        value={search}
        onSearch={(q) => setQueried({ q })}
        found={`${rows.length} of ${queries.length}`}
      />
      {rows.length === 0 ? (
        <Empty>No named query fits all words of the search.</Empty>
      ) : (
        <WindowTable
          label="Named queries"
          columns={columns}
          rows={rows}
          keyOf={({ name = "", version = "" }) => JSON.stringify([name, version])}
          sort={sort}
          onSort={(next) => setQueried({ sort: next === "name" ? "" : next })}
        />
      )}
    </>
  );
}

function wordsOf({ description = "", inputs = [], name = "", outputs = [], owner = "", tags = [] }: NamedQueryJson): string {
  return [name, description, owner, ...tags, ...inputs, ...outputs].join("\n").toLowerCase();
}
