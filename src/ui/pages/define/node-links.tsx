import type { LineageNode } from "../../../domain/lineage.ts";
import { escapeControls, readableName } from "../../../domain/name.ts";
import { href } from "../../app/place.ts";

/** What the kinds of a lineage's nodes are called. */
export const KIND_WORDS = {
  source: "source",
  resolver: "resolver",
  feature: "feature",
  class: "class",
  query: "named query",
  scheduledQuery: "scheduled query",
} as const;

/** The page of a node; undefined when it has none. */
export function nodeAddress({ kind, name }: LineageNode): string | undefined {
  if (kind === "feature") return href("feature", { fqn: name });
  if (kind === "resolver") return href("resolver", { fqn: name });
  if (kind === "class") return href("features", {}, { query: new URLSearchParams({ q: `${name}.` }) });
  if (kind === "query") return href("namedQuery", { name: name.split(" ", 1)[0] ?? name });
  if (kind === "scheduledQuery") return href("schedules", {});
  if (kind === "source") return href("source", { name });
  return undefined;
}

/** A node's name, which leads to its page. */
export function NodeLink({ node }: { readonly node: LineageNode }) {
  const address = nodeAddress(node);
  const name = <span class="name">{escapeControls(readableName(node.name))}</span>;
  return address === undefined ? name : <a href={address}>{name}</a>;
}

/** Nodes as a list of links with their kinds. */
export function NodeList({ nodes, none }: { readonly nodes: readonly LineageNode[]; readonly none: string }) {
  if (nodes.length === 0) return <p class="dim">{none}</p>;
  return (
    <ul class="nodes">
      {nodes.map((node) => (
        <li key={node.id}>
          <NodeLink node={node} /> <span class="dim">{KIND_WORDS[node.kind]}</span>
        </li>
      ))}
    </ul>
  );
}
