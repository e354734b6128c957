import { useMemo } from "preact/hooks";
import type { GetGraphResponseJson } from "../../../../gen/svc/v1/graph_pb.ts";
import type { LineageNode } from "../../../domain/lineage.ts";
import { escapeControls, readableName } from "../../../domain/name.ts";
import { useCommand } from "../../app/command.ts";
import { go, queried, setQueried } from "../../app/place.ts";
import { Copy } from "../../parts/copy.tsx";
import { Empty } from "../../parts/empty.tsx";
import { Loading } from "../../parts/loading.tsx";
import { Page } from "../../parts/page.tsx";
import { SearchBox } from "../../parts/search-box.tsx";
import { GraphDrawing } from "./graph-drawing.tsx";
import { DEPTHS, shownLineage } from "./graph-view.ts";
import { KIND_WORDS, NodeLink, NodeList, nodeAddress } from "./node-links.tsx";
import { useGraph, useLineage, useNeighbours } from "./use-lineage.ts";

/** Nodes in the list that a search gives. */
const MOST_FOUND = 50;

/** What needs what: sources, resolvers, features and named queries, as a drawing and as a list. */
export default function Graph() {
  const command = useCommand();
  const answer = useGraph();
  return (
    <Page title="Lineage" command={command("graph")}>
      {answer.error?.code === "failed_precondition" ? (
        <Empty command="svc apply">Nothing is deployed here yet. Deploy a project:</Empty>
      ) : (
        <Loading of={answer} lines={12}>
          {(data) => <Content data={data} />}
        </Loading>
      )}
    </Page>
  );
}

function Content({ data }: { readonly data: GetGraphResponseJson }) {
  const lineage = useLineage(data);
  const [on, depth, fold] = [queried("on"), queried("depth"), queried("fold")];
  const { shown, isFolded } = useMemo(() => shownLineage(lineage, { on, depth, fold }), [lineage, on, depth, fold]);
  const centre = lineage.nodes.get(on);
  const chosen = shown.nodes.get(queried("node") || on);
  if (lineage.nodes.size === 0) return <Empty command="svc apply">The deployment defines nothing. Deploy features:</Empty>;
  const open = (id: string) => {
    const node = shown.nodes.get(id);
    const address = node && nodeAddress(node);
    if (address !== undefined) go(address);
  };
  return (
    <>
      <Search nodes={[...lineage.nodes.values()]} />
      <div class="graph-controls">
        {centre && (
          <>
            <span>
              Around <strong class="name">{escapeControls(readableName(centre.name))}</strong>
            </span>
            <label>
              Distance{" "}
              <select
                value={DEPTHS.find((one) => one === depth) ?? "2"}
                onChange={(event) => setQueried({ depth: event.currentTarget.value })}
              >
                {DEPTHS.map((one) => (
                  <option key={one}>{one}</option>
                ))}
              </select>
            </label>
            <button type="button" onClick={() => setQueried({ on: "", depth: "" })}>
              All of it
            </button>
          </>
        )}
        <label>
          <input
            type="checkbox"
            checked={isFolded}
            onChange={(event) => setQueried({ fold: event.currentTarget.checked ? "yes" : "no" })}
          />{" "}
          Classes in place of features
        </label>
        <span class="dim" role="status">
          {shown.nodes.size} nodes, {shown.edges.length} edges
        </span>
        <span>
          JSON <Copy text={JSON.stringify({ nodes: [...shown.nodes.values()], edges: shown.edges }, null, 2)} what="the lineage as JSON" />
        </span>
      </div>
      <GraphDrawing lineage={shown} chosen={chosen?.id ?? ""} onChoose={(node) => setQueried({ node })} onOpen={open} />
      {chosen ? (
        <Chosen node={chosen} lineage={shown} />
      ) : (
        <p class="dim">Choose a node: arrows walk from one to the next, Enter opens its page.</p>
      )}
    </>
  );
}

/** The nodes whose names hold what was searched for, as the way to each. */
function Search({ nodes }: { readonly nodes: readonly LineageNode[] }) {
  const search = queried("q");
  const wanted = search.trim().toLowerCase();
  const found = wanted === "" ? [] : nodes.filter(({ name }) => readableName(name).toLowerCase().includes(wanted));
  return (
    <>
      <SearchBox
        label="Search the lineage"
        placeholder="feature, resolver, source, named query"
        value={search}
        onSearch={(q) => setQueried({ q })}
        {...(wanted === "" ? {} : { found: `${found.length} found` })}
      />
      {found.length > 0 && (
        <ul class="nodes found">
          {found.slice(0, MOST_FOUND).map(({ id, kind, name }) => (
            <li key={id}>
              <button type="button" class="quiet name" onClick={() => setQueried({ on: id, node: "", q: "" })}>
                {escapeControls(readableName(name))}
              </button>{" "}
              <span class="dim">{KIND_WORDS[kind]}</span>
            </li>
          ))}
        </ul>
      )}
    </>
  );
}

/** The chosen node with its neighbours as lists. */
function Chosen({ node, lineage }: { readonly node: LineageNode; readonly lineage: Parameters<typeof useNeighbours>[0] }) {
  const { needs, neededBy } = useNeighbours(lineage, node.id);
  return (
    <section aria-label="Chosen">
      <h2>
        <NodeLink node={node} /> <span class="dim">{KIND_WORDS[node.kind]}</span>
      </h2>
      {node.kind !== "class" && (
        <button type="button" onClick={() => setQueried({ on: node.id, node: "" })}>
          Only what is around it
        </button>
      )}
      <div class="columns">
        <div>
          <h3>Needs</h3>
          <NodeList nodes={needs} none="Nothing that is shown." />
        </div>
        <div>
          <h3>Needed by</h3>
          <NodeList nodes={neededBy} none="Nothing that is shown." />
        </div>
      </div>
    </section>
  );
}
