import { useMemo } from "preact/hooks";
import type { GetLineageResponseJson } from "../../../../gen/svc/v1/graph_pb.ts";
import type { LineageNode } from "../../../domain/lineage.ts";
import { escapeControls, readableName } from "../../../domain/name.ts";
import { useCommand } from "../../app/command.ts";
import { go, queried, setQueried } from "../../app/place.ts";
import { Copy } from "../../parts/copy.tsx";
import { Empty } from "../../parts/empty.tsx";
import { Loading } from "../../parts/loading.tsx";
import { Page } from "../../parts/page.tsx";
import { saveText } from "../../parts/save-text.ts";
import { drawingFile } from "./drawing-file.ts";
import { GraphDrawing } from "./graph-drawing.tsx";
import { GraphSearch } from "./graph-search.tsx";
import { DEPTHS } from "./graph-view.ts";
import { MarkingChoice, MarkLegend, useMarks } from "./lineage-marking.tsx";
import { lineageIn } from "./lineage-nodes.ts";
import { KIND_WORDS, NodeLink, NodeList, nodeAddress } from "./node-links.tsx";
import { useLineage, useNeighbours } from "./use-lineage.ts";

/** What needs what: sources, resolvers, features and named queries, as a drawing and as a list. */
export default function Graph() {
  const command = useCommand();
  const [on, depth, fold] = [queried("on"), queried("depth"), queried("fold")];
  const { answer, isFolded } = useLineage({ on, depth, fold });
  const name = on.slice(on.indexOf(":") + 1);
  const steps = depth === "all" ? "0" : depth || "2";
  return (
    <Page title="Lineage" command={command("graph", ...(on === "" ? [] : ["--lineage", name, "--depth", steps]))}>
      {answer.error?.code === "failed_precondition" ? (
        <Empty command="svc apply">Nothing is deployed here yet. Deploy a project:</Empty>
      ) : (
        <>
          <GraphSearch />
          <Loading of={answer} lines={12}>
            {(data) => <Content data={data} isFolded={isFolded} />}
          </Loading>
          {answer.error && on !== "" && <WholeLineage />}
        </>
      )}
    </Page>
  );
}

function WholeLineage() {
  return (
    <button type="button" onClick={() => setQueried({ on: "", depth: "" })}>
      All of it
    </button>
  );
}

function Content({ data, isFolded }: { readonly data: GetLineageResponseJson; readonly isFolded: boolean }) {
  const shown = useMemo(() => lineageIn(data), [data]);
  const { marking, marks, omitted } = useMarks();
  const [on, depth] = [queried("on"), queried("depth")];
  const [centre] = data.chosen ?? [];
  const chosen = shown.nodes.get(queried("node") || (centre ?? ""));
  if (shown.nodes.size === 0) return <Empty command="svc apply">The deployment defines nothing. Deploy features:</Empty>;
  const open = (id: string) => {
    const node = shown.nodes.get(id);
    const address = node && nodeAddress(node);
    if (address !== undefined) go(address);
  };
  return (
    <>
      <div class="graph-controls">
        {on !== "" && (
          <>
            <span>
              Around <strong class="name">{escapeControls(readableName(on.slice(on.indexOf(":") + 1)))}</strong>
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
            <WholeLineage />
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
        <MarkingChoice />
        <span class="dim" role="status">
          {shown.nodes.size} nodes, {shown.edges.length} edges
        </span>
        <span>
          <SaveDrawing />
          <Copy
            text={JSON.stringify({ nodes: [...shown.nodes.values()], edges: shown.edges }, null, 2)}
            what="as JSON: the lineage"
            label="Copy as JSON"
          />
        </span>
      </div>
      <LeftOff data={data} />
      {marking && <MarkLegend marking={marking} omitted={omitted} />}
      <GraphDrawing lineage={shown} marks={marks} chosen={chosen?.id ?? ""} onChoose={(node) => setQueried({ node })} onOpen={open} />
      {chosen ? (
        <Chosen node={chosen} lineage={shown} />
      ) : (
        <p class="dim">Choose a node: arrows walk from one to the next, Enter opens its page.</p>
      )}
    </>
  );
}

/** Saves the drawing as it is shown, in the colours of the theme. */
function SaveDrawing() {
  const save = () => {
    const drawing = document.querySelector<SVGSVGElement>(".graph svg");
    if (drawing) saveText("lineage.svg", "image/svg+xml", drawingFile(drawing, "Lineage"));
  };
  return (
    <button type="button" onClick={save}>
      Save as SVG
    </button>
  );
}

/** What is not drawn, because there is too much. */
function LeftOff({ data: { edgesLeftOff = 0, nodesLeftOff = 0 } }: { readonly data: GetLineageResponseJson }) {
  if (nodesLeftOff === 0 && edgesLeftOff === 0) return null;
  return (
    <p class="dim">
      {nodesLeftOff.toLocaleString("en")} nodes and {edgesLeftOff.toLocaleString("en")} edges are not drawn. Search for one, and look at
      what is around it.
    </p>
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
