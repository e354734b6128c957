/**
 * The graph of a project as the text of its Python files shows it, enough to link SQL files and to
 * check metadata, and how complete it is.
 */

import { create, type MessageInitShape } from "@bufbuild/protobuf";
import {
  type FeatureSchema,
  type FeatureSetSchema,
  type Graph,
  GraphSchema,
  type ResolverSchema,
  SourceKind,
} from "../../../gen/svc/v1/graph_pb.ts";
import type { Completeness } from "../../domain/sql/link-input.ts";
import { readAnnotation } from "./annotation.ts";
import { type ClassModel, dottedPath, type FieldModel, literalText, type ProjectModel, type ResolverModel } from "./project-model.ts";
import type { Arguments, Expression } from "./python-expression.ts";
import type { PythonModule } from "./python-module.ts";
import type { Spans } from "./spans.ts";

const SOURCES: Readonly<Record<string, SourceKind>> = {
  SQLiteSource: SourceKind.SQLITE,
  SQLiteInMemorySource: SourceKind.SQLITE,
  PostgreSQLSource: SourceKind.POSTGRESQL,
  MySQLSource: SourceKind.MYSQL,
  ClickhouseSource: SourceKind.CLICKHOUSE,
  DuckDBSource: SourceKind.DUCKDB,
  SnowflakeSource: SourceKind.SNOWFLAKE,
  BigQuerySource: SourceKind.BIGQUERY,
  KafkaSource: SourceKind.KAFKA,
  TopicSource: SourceKind.TOPIC,
};
/** The stand-in for metadata that only running the code tells. */
const COMPUTED = "(computed)";

/** The graph and its completeness. Classes whose namespace is computed are left out of it. */
export function staticGraph(model: ProjectModel, spans: Spans): { graph: Graph; completeness: Completeness } {
  const featureSets: MessageInitShape<typeof FeatureSetSchema>[] = [];
  const open = new Set<string>();
  let allClasses = !model.mayHoldMoreClasses;
  for (const item of model.classes) {
    if (item.namespace === undefined) {
      allClasses = false;
      continue;
    }
    if (!item.complete || [...item.fields.values()].some((field) => field.name === undefined || hasVersions(field)))
      open.add(item.namespace);
    if (featureSets.some((set) => set.namespace === item.namespace)) open.add(item.namespace);
    else featureSets.push(featureSet(model, item, item.namespace, spans));
  }
  const graph = create(GraphSchema, {
    featureSets,
    resolvers: model.resolvers.flatMap((resolver) => (resolver.fqn === undefined ? [] : [resolverOf(resolver, resolver.fqn, spans)])),
    sources: sourcesOf(model),
  });
  return { graph, completeness: { allClasses, allFeatures: (namespace) => !open.has(namespace) } };
}

function featureSet(model: ProjectModel, item: ClassModel, namespace: string, spans: Spans): MessageInitShape<typeof FeatureSetSchema> {
  const { module, definition } = item;
  const owner = optionText(item.decorator.call, "owner");
  const tags = optionTags(item.decorator.call);
  const fields = [...item.fields.values()];
  const isKey = (field: FieldModel): boolean => {
    const option = field.options.find((keyword) => keyword.name === "primary")?.value;
    return readAnnotation(model, module, field.source.annotation).primary || (option?.kind === "bool" && option.value);
  };
  const key = fields.find(isKey) ?? fields.find((field) => field.attribute === "id");
  const keyIsSure =
    key &&
    item.complete &&
    fields.every((field) => !field.open && readAnnotation(model, module, field.source.annotation).core.kind !== "unknown");
  return {
    namespace,
    className: definition.name,
    module: module.module,
    primaryKey: keyIsSure && key.name !== undefined ? `${namespace}.${key.name}` : "",
    span: spans.of(module, definition.from, definition.to),
    features: fields.flatMap((field) =>
      field.name === undefined
        ? []
        : featuresOf(field, field.name).map((name) => feature(model, item, field, name, { owner, tags }, spans)),
    ),
  };
}

/** Whether only running the code tells the versions of a feature. */
function hasVersions({ options }: FieldModel): boolean {
  return options.some(({ name }) => name === "version" || name === "versions");
}

/** The names of the features that a field is: one per window, else its own. */
function featuresOf(field: FieldModel, name: string): string[] {
  return field.windows ? field.windows.map((seconds) => `${name}__${seconds}__`) : [name];
}

function feature(
  model: ProjectModel,
  item: ClassModel,
  field: FieldModel,
  name: string,
  inherited: { owner: string; tags: string[] },
  spans: Spans,
): MessageInitShape<typeof FeatureSchema> {
  const { core } = readAnnotation(model, item.module, field.source.annotation, true);
  const comment = commentAbove(item.module.text, field.source.from);
  const { value } = field.source;
  const call = value?.kind === "call" ? value.call : undefined;
  const related = core.kind === "class" || core.kind === "rows" ? core.model.namespace : undefined;
  return {
    fqn: `${item.namespace}.${name}`,
    name,
    namespace: item.namespace ?? "",
    owner: (call && optionText(call, "owner")) || comment.owner || inherited.owner,
    tags: [...(call ? optionTags(call) : []), ...comment.tags, ...inherited.tags],
    description: (call && optionText(call, "description")) || comment.text,
    span: spans.of(item.module, field.source.from, field.source.to),
    kind:
      related === undefined
        ? { case: "scalar", value: field.windows ? { windowedBase: `${item.namespace}.${field.name}` } : {} }
        : { case: core.kind === "rows" ? "hasMany" : "hasOne", value: { foreignNamespace: related } },
  };
}

function resolverOf(resolver: ResolverModel, fqn: string, spans: Spans): MessageInitShape<typeof ResolverSchema> {
  const { module, definition, decorator } = resolver;
  return {
    fqn,
    owner: optionText(decorator.call, "owner"),
    tags: optionTags(decorator.call),
    description: COMPUTED,
    span: spans.of(module, definition.from, definition.to),
    body: { case: "python", value: { module: module.module, name: definition.name } },
  };
}

function sourcesOf(model: ProjectModel): { name: string; kind: SourceKind }[] {
  return model.modules.flatMap((module: PythonModule) =>
    module.calls.flatMap(({ call }) => {
      const kind = SOURCES[model.sdkName(module, dottedPath(call.callee) ?? []) ?? ""];
      const name = nameOf(call.call);
      return kind === undefined || name === undefined ? [] : [{ name, kind }];
    }),
  );
}

function nameOf(call: Arguments): string | undefined {
  const given = call.keywords.find((keyword) => keyword.name === "name")?.value ?? call.positional[0];
  return given && literalText(given);
}

function optionText(call: Arguments, name: string): string {
  const value = call.keywords.find((keyword) => keyword.name === name)?.value;
  if (!value) return call.open ? COMPUTED : "";
  return literalText(value) ?? (value.kind === "none" ? "" : COMPUTED);
}

function optionTags(call: Arguments): string[] {
  const value: Expression | undefined = call.keywords.find((keyword) => keyword.name === "tags")?.value;
  if (!value || value.kind === "none") return call.open ? [COMPUTED] : [];
  const items = value.kind === "list" ? value.items : [value];
  return items.map((item) => literalText(item) ?? COMPUTED);
}

/** The comment lines directly above a definition: text, and the lines `:owner:` and `:tags:`. */
function commentAbove(text: string, offset: number): { text: string; owner: string; tags: string[] } {
  const lines: string[] = [];
  let end = text.lastIndexOf("\n", offset - 1);
  while (end > 0) {
    const start = text.lastIndexOf("\n", end - 1) + 1;
    const line = text.slice(start, end).trim();
    if (!line.startsWith("#")) break;
    lines.unshift(line.slice(1).trim());
    end = start - 1;
  }
  let owner = "";
  const tags: string[] = [];
  const kept = lines.filter((line) => {
    const match = /^:(owner|tags):\s*(.*)$/.exec(line);
    if (match?.[1] === "owner") owner = match[2] ?? "";
    else if (match)
      tags.push(
        ...(match[2] ?? "")
          .split(",")
          .map((tag) => tag.trim())
          .filter((tag) => tag !== ""),
      );
    return !match;
  });
  return { text: kept.join("\n").trim(), owner, tags };
}
