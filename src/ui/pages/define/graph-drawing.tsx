import { useLayoutEffect, useMemo, useRef } from "preact/hooks";
import type { Lineage, LineageKind } from "../../../domain/lineage.ts";
import { layOut } from "../../../domain/lineage-layout.ts";
import { escapeControls, readableName } from "../../../domain/name.ts";
import { edgePath, nodeBeside, nodeText, nodeWidth } from "./graph-view.ts";
import type { Mark } from "./lineage-marks.ts";
import { KIND_WORDS } from "./node-links.tsx";

/** Each kind has a shape of its own. */
const SHAPES: Readonly<Record<LineageKind, string>> = {
  source: "M8 8a5 3 0 0 1 10 0v10a5 3 0 0 1-10 0Z",
  resolver: "M8 8h10v10H8Z",
  feature: "M13 7.5a5.5 5.5 0 1 1 0 11 5.5 5.5 0 0 1 0-11Z",
  class: "M7 8h8v8H7Zm3 3h9v9h-9Z",
  query: "M13 6.5 20 13 13 19.5 6 13Z",
  scheduledQuery: "M13 6.5 20 13 13 19.5 6 13ZM13 10v3h3",
};
const MARGIN = 8;

interface DrawingParts {
  readonly lineage: Lineage;
  /** What stands on nodes, by their ids. */
  readonly marks: ReadonlyMap<string, Mark>;
  /** Id of the chosen node; empty = none. */
  readonly chosen: string;
  readonly onChoose: (id: string) => void;
  /** Called with a node that was chosen a second time, or with Enter. */
  readonly onOpen: (id: string) => void;
}

/** A lineage from left to right; arrows walk over it, Enter opens, a click chooses. */
export function GraphDrawing({ lineage, marks, chosen, onChoose, onOpen }: DrawingParts) {
  const scroller = useRef<HTMLElement>(null);
  const layout = useMemo(() => {
    const nodes = [...lineage.nodes.values()].map((node) => ({ id: node.id, width: nodeWidth(node, marks.get(node.id)?.text ?? "") }));
    return layOut(nodes, lineage.edges);
  }, [lineage, marks]);
  const near = new Set(lineage.edges.flatMap(({ from, to }) => (from === chosen ? [to] : to === chosen ? [from] : [])));
  const first = lineage.nodes.has(chosen) ? chosen : layout.nodes[0]?.id;
  useLayoutEffect(() => {
    scroller.current?.querySelector('[aria-pressed="true"]')?.scrollIntoView({ block: "nearest", inline: "nearest" });
  }, [layout, chosen]);
  const walk = (event: KeyboardEvent, id: string) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Enter") onOpen(id);
    else if (event.key === " ") onChoose(id);
    else if (event.key.startsWith("Arrow")) {
      const next = nodeBeside(layout, id, event.key);
      if (next === undefined) return event.preventDefault();
      onChoose(next);
      scroller.current?.querySelector<SVGElement>(`[data-node="${CSS.escape(next)}"]`)?.focus();
    } else return;
    event.preventDefault();
  };
  const [width, height] = [layout.width + 2 * MARGIN, layout.height + 2 * MARGIN];
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
    <section class="graph" ref={scroller} tabIndex={0} aria-label="Lineage drawing">
      {/* biome-ignore lint/a11y/useSemanticElements: a drawing has no fieldset */}
      <svg role="group" aria-label="Lineage" width={width} height={height} viewBox={`${-MARGIN} ${-MARGIN} ${width} ${height}`}>
        {layout.edges.map(({ from, isBack, points, to }) => (
          <path
            key={`${from} ${to}`}
            class={`edge${from === chosen || to === chosen ? " near" : ""}${isBack ? " back" : ""}`}
            d={edgePath(points)}
          />
        ))}
        {layout.nodes.map(({ height: own, id, width: wide, x, y }) => {
          const node = lineage.nodes.get(id);
          if (!node) return null;
          const mark = marks.get(id);
          return (
            // biome-ignore lint/a11y/useSemanticElements: a drawing has no buttons
            <g
              key={id}
              class={`node ${node.kind}${near.has(id) ? " near" : ""}${mark ? ` ${mark.level}` : ""}`}
              transform={`translate(${x} ${y})`}
              role="button"
              data-node={id}
              // Attributes of drawings keep their case: `tabIndex` would do nothing.
              tabindex={id === first ? 0 : -1}
              aria-pressed={id === chosen}
              aria-label={`${KIND_WORDS[node.kind]} ${escapeControls(readableName(node.name))}${mark ? `, ${mark.text}` : ""}`}
              onClick={() => (id === chosen ? onOpen(id) : onChoose(id))}
              onKeyDown={(event) => walk(event, id)}
            >
              <rect width={wide} height={own} rx="5" />
              <path d={SHAPES[node.kind]} />
              <text x="26" y="17">
                {escapeControls(nodeText(node))}
                {mark && <tspan class="mark"> {mark.text}</tspan>}
              </text>
            </g>
          );
        })}
      </svg>
    </section>
  );
}
