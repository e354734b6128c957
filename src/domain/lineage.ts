/**
 * The lineage of a graph: which features, resolvers, sources and named queries need which, through
 * relations, expressions and windows. An edge leads from what is needed to what needs it.
 */

import type {
  DataSourceJson,
  ExpressionJson,
  FeatureJson,
  GraphJson,
  ResolverInputJson,
  ResolverJson,
  SinkResolverJson,
  StreamResolverJson,
} from "../../gen/svc/v1/graph_pb.ts";

/** Kinds of nodes. A class stands for all its features where they are folded. */
export type LineageKind = "source" | "resolver" | "feature" | "class" | "query" | "scheduledQuery";

/** A node. */
export interface LineageNode {
  /** Its kind and name, `feature:user.name`. */
  readonly id: string;
  readonly kind: LineageKind;
  /** FQN, a namespace, or the name of a source or of a query with its version. */
  readonly name: string;
}

/** An edge, by the ids of its nodes. */
export interface LineageEdge {
  readonly from: string;
  readonly to: string;
}

/** Nodes by id, and edges, each once and none from a node to itself. */
export interface Lineage {
  readonly nodes: ReadonlyMap<string, LineageNode>;
  readonly edges: readonly LineageEdge[];
}

/** The id of a node. */
export function lineageId(kind: LineageKind, name: string): string {
  return `${kind}:${name}`;
}

/** The lineage of a graph. Names that lead nowhere are left out. */
export function lineageOf(graph: GraphJson): Lineage {
  const lines = new Lines(graph);
  for (const { features = [] } of graph.featureSets ?? []) for (const feature of features) lines.addFeature(feature);
  for (const resolver of graph.resolvers ?? []) lines.addResolver(resolver);
  for (const stream of graph.streamResolvers ?? []) lines.addStream(stream);
  for (const sink of graph.sinkResolvers ?? []) lines.addSink(sink);
  for (const { name = "", outputs = [], version = "" } of graph.namedQueries ?? []) {
    const id = lines.add("query", queryNodeName(name, version));
    for (const output of outputs) lines.link(lines.path(output), id);
  }
  for (const { name = "", outputs = [] } of graph.scheduledQueries ?? []) {
    const id = lines.add("scheduledQuery", name);
    for (const output of outputs) lines.link(lines.path(output), id);
  }
  return lines.lineage();
}

/** The name of a named query's node. */
export function queryNodeName(name: string, version: string): string {
  return version === "" ? name : `${name} ${version}`;
}

/** The lineage with each class in place of its features, but for the classes in `open`. */
export function foldClasses({ nodes, edges }: Lineage, open: ReadonlySet<string> = new Set()): Lineage {
  const place = ({ id, kind, name }: LineageNode): LineageNode => {
    const namespace = name.split(".", 1)[0] ?? "";
    return kind === "feature" && !open.has(namespace)
      ? { id: lineageId("class", namespace), kind: "class", name: namespace }
      : { id, kind, name };
  };
  const placed = new Map([...nodes.values()].map((node) => [node.id, place(node)]));
  return {
    nodes: new Map([...placed.values()].map((node) => [node.id, node])),
    edges: distinct(edges.map(({ from, to }) => ({ from: placed.get(from)?.id ?? from, to: placed.get(to)?.id ?? to }))),
  };
}

function distinct(edges: readonly LineageEdge[]): LineageEdge[] {
  const known = new Map(edges.map((edge) => [JSON.stringify([edge.from, edge.to]), edge]));
  return [...known.values()].filter(({ from, to }) => from !== to);
}

/** Kinds of sources as SQL files name them. */
const SOURCE_KINDS: Readonly<Record<string, DataSourceJson["kind"]>> = {
  sqlite: "SOURCE_KIND_SQLITE",
  postgresql: "SOURCE_KIND_POSTGRESQL",
  postgres: "SOURCE_KIND_POSTGRESQL",
  mysql: "SOURCE_KIND_MYSQL",
  mariadb: "SOURCE_KIND_MYSQL",
};

/** The nodes and edges of a graph as they are found. */
class Lines {
  readonly #nodes = new Map<string, LineageNode>();
  readonly #edges: LineageEdge[] = [];
  readonly #classes: ReadonlyMap<string, ReadonlyMap<string, FeatureJson>>;

  readonly #sources: readonly DataSourceJson[];

  constructor({ featureSets = [], sources = [] }: GraphJson) {
    this.#sources = sources;
    for (const { name = "" } of sources) this.add("source", name);
    this.#classes = new Map(
      featureSets.map(({ namespace = "", features = [] }) => [namespace, new Map(features.map((one) => [nameOf(one), one]))]),
    );
  }

  lineage(): Lineage {
    return { nodes: this.#nodes, edges: distinct(this.#edges) };
  }

  add(kind: LineageKind, name: string): string {
    const id = lineageId(kind, name);
    this.#nodes.set(id, { id, kind, name });
    return id;
  }

  link(from: readonly string[], to: string): void {
    for (const one of from) this.#edges.push({ from: one, to });
  }

  addFeature({ fqn = "", hasMany, hasOne, namespace = "", scalar }: FeatureJson): void {
    const id = this.add("feature", fqn);
    for (const { foreign = "", local = "" } of (hasOne ?? hasMany)?.join ?? []) this.link([...this.path(local), ...this.path(foreign)], id);
    const { local = "", foreign = "", equal = [], containing = [], filters = [] } = hasMany?.nearest ?? {};
    for (const key of hasMany?.nearest ? [{ local, foreign }, ...equal, ...containing] : [])
      this.link([...this.path(key.foreign ?? ""), ...this.path(key.local ?? "")], id);
    for (const filter of filters) this.link(this.#expression(filter, [hasMany?.foreignNamespace ?? ""]), id);
    for (const one of [scalar?.expression, scalar?.offlineExpression]) if (one) this.link(this.#expression(one, [namespace]), id);
  }

  addResolver({ fqn = "", inputs = [], outputs = [], relation = "", sql, runFilter = "", runSample = "", when }: ResolverJson): void {
    const id = this.add("resolver", fqn);
    for (const input of inputs) this.link(this.#input(input), id);
    if (sql) {
      if (sql.source) this.link([this.add("source", this.#sourceName(sql.source))], id);
      for (const { path = "" } of sql.parameters ?? []) this.link(this.path(path), id);
    }
    this.link(this.path(runFilter), id);
    if (when) this.link(this.#expression(when, [outputs[0]?.split(".", 1)[0] ?? ""]), id);
    if (runSample !== "") this.link([this.add("resolver", runSample)], id);
    for (const output of [...outputs, relation]) for (const made of this.path(output).slice(-1)) this.link([id], made);
    // Nobody has looked up what a `select *` gives: any value that is no expression.
    if (sql?.star && outputs.length === 0)
      for (const { fqn = "", scalar } of this.#classes.get(sql.namespace ?? "")?.values() ?? [])
        if (scalar && !scalar.expression) this.link([id], lineageId("feature", fqn));
  }

  addStream({ fqn = "", outputs = [], source = "" }: StreamResolverJson): void {
    const id = this.add("resolver", fqn);
    this.link([this.add("source", source)], id);
    for (const output of outputs) this.link([id], lineageId("feature", output));
  }

  addSink({ columns = [], fqn = "" }: SinkResolverJson): void {
    const id = this.add("resolver", fqn);
    for (const column of columns) this.link(this.path(column), id);
  }

  /** The source of a name, or of a kind that only one source has. */
  #sourceName(written: string): string {
    if (this.#sources.some(({ name }) => name === written)) return written;
    const [only, ...others] = this.#sources.filter(({ kind = "" }) => SOURCE_KINDS[written.toLowerCase()] === kind);
    return (others.length === 0 && only?.name) || written;
  }

  /** Ids of the features along a path from a namespace; empty when it leads nowhere. */
  path(path: string): readonly string[] {
    const [namespace = "", ...names] = path.split(".");
    return this.#walk(namespace, names).ids;
  }

  #walk(namespace: string, names: readonly string[]): { readonly ids: readonly string[]; readonly namespace: string } {
    const ids: string[] = [];
    let at = namespace;
    for (const name of names) {
      const feature = this.#classes.get(at)?.get(name);
      if (!feature) return { ids: [], namespace: "" };
      ids.push(lineageId("feature", feature.fqn ?? ""));
      at = feature.hasOne?.foreignNamespace ?? feature.hasMany?.foreignNamespace ?? "";
    }
    return { ids, namespace: at };
  }

  #input({ feature, rows, table }: ResolverInputJson): readonly string[] {
    if (feature) return this.path(feature.path ?? "");
    if (table) return (table.columns ?? []).flatMap((column) => this.path(column));
    if (!rows) return [];
    const [namespace = "", ...names] = (rows.path ?? "").split(".");
    const relation = this.#walk(namespace, names);
    return [
      ...relation.ids,
      ...(rows.columns ?? []).flatMap((column) => this.path(column)),
      ...(rows.filters ?? []).flatMap((filter) => this.#expression(filter, [relation.namespace, namespace])),
    ];
  }

  /** What an expression reads; `scopes` are namespaces, the innermost first. */
  #expression({ aggregation, call, feature }: ExpressionJson, scopes: readonly string[]): readonly string[] {
    if (feature) return this.#walk(scopes[feature.scope ?? 0] ?? "", feature.path ?? []).ids;
    if (call) return (call.arguments ?? []).flatMap((one) => this.#expression(one, scopes));
    if (!aggregation) return [];
    const relation = this.#walk(scopes[0] ?? "", aggregation.path ?? []);
    const own = [relation.namespace, ...scopes];
    const { column, filters = [], grouping, key } = aggregation;
    const groups = grouping?.columns?.map(({ value }) => value) ?? [];
    const inner = [...filters, column, key, ...groups].filter((one) => one !== undefined);
    return [...relation.ids, ...inner.flatMap((one) => this.#expression(one, own))];
  }
}

/** The name within its class, with a raw window. */
function nameOf({ fqn = "" }: FeatureJson): string {
  return fqn.slice(fqn.indexOf(".") + 1);
}
