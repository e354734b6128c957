/** What GraphService says of single features and resolvers, and of lineage, as messages. */

import { fromJsonString, type MessageInitShape, toJson } from "@bufbuild/protobuf";
import type { Span } from "../../../../gen/svc/v1/error_pb.ts";
import {
  type FeatureStatisticsSchema,
  type FeatureVersionSchema,
  type Graph,
  GraphSchema,
  HasManySchema,
  LineageDirection,
  type LineageEdgeSchema,
  LineageKind,
  type LineageNodeSchema,
  ProviderKind,
  type Resolver,
  type SourceTextSchema,
} from "../../../../gen/svc/v1/graph_pb.ts";
import { DataTypeSchema } from "../../../../gen/svc/v1/value_pb.ts";
import { type DefinitionForm, definitionText } from "../../../domain/definition-text.ts";
import type { Lineage, LineageNode } from "../../../domain/lineage.ts";
import { lineageOf } from "../../../domain/lineage.ts";
import { byPlace, type LineageDirection as Direction, LineageNeighbours } from "../../../domain/lineage-choice.ts";
import { ExponentialHistogram } from "../../../domain/metrics/exponential-histogram.ts";
import { msToTimestamp } from "../../../domain/proto-time.ts";
import type { Provider } from "../../../domain/providers.ts";
import { typeName } from "../../../domain/value.ts";
import type { SourceFile } from "../../deployments/source-files.ts";
import { driftOf } from "../../metrics/feature-drift.ts";
import type { KnownVersion } from "../../stores/metadata/versions.ts";
import type { FeatureHour } from "../../stores/metrics/feature-stats.ts";
import { mergedSketches } from "../../stores/metrics/feature-stats-table.ts";

const MOST_USERS = 1000;
/** Most bins of a histogram. */
const MOST_BINS = 60;
const QUANTILES = [0, 0.05, 0.25, 0.5, 0.75, 0.95, 1];

const KINDS: Readonly<Record<LineageNode["kind"], LineageKind>> = {
  source: LineageKind.SOURCE,
  resolver: LineageKind.RESOLVER,
  feature: LineageKind.FEATURE,
  class: LineageKind.CLASS,
  query: LineageKind.QUERY,
  scheduledQuery: LineageKind.SCHEDULED_QUERY,
};

const PROVIDERS: Readonly<Record<Provider["kind"], ProviderKind>> = {
  onlineStore: ProviderKind.ONLINE_STORE,
  join: ProviderKind.JOIN,
  expression: ProviderKind.EXPRESSION,
  resolver: ProviderKind.RESOLVER,
  default: ProviderKind.DEFAULT,
};

/** The lineage of a graph. */
export function graphLineage(graph: Graph): Lineage {
  return lineageOf(toJson(GraphSchema, graph));
}

/** The direction that a request names. */
export function directionOf(direction: LineageDirection): Direction {
  if (direction === LineageDirection.UPSTREAM) return "upstream";
  return direction === LineageDirection.DOWNSTREAM ? "downstream" : "both";
}

/** A node as a message. */
export function nodeMessage({ id, kind, name }: LineageNode): MessageInitShape<typeof LineageNodeSchema> {
  return { id, kind: KINDS[kind], name };
}

/** An edge as a message. */
export function edgeMessage({ from, to }: Lineage["edges"][number]): MessageInitShape<typeof LineageEdgeSchema> {
  return { from, to };
}

/** What reads some nodes in one step. */
export function usedBy(lineage: Lineage, ids: readonly string[]) {
  const neighbours = new LineageNeighbours(lineage);
  const readers = [...new Set(ids.flatMap((id) => neighbours.after(id)))].flatMap((id) => lineage.nodes.get(id) ?? []).sort(byPlace);
  return { usedBy: readers.slice(0, MOST_USERS).map(nodeMessage), usedByLeftOff: Math.max(0, readers.length - MOST_USERS) };
}

/** A definition's place in a file that was read. */
export function sourceMessage(span: Span, form: DefinitionForm, file: SourceFile): MessageInitShape<typeof SourceTextSchema> {
  if ("missing" in file) return { file: span.file, line: span.line, missing: file.missing };
  const found = definitionText(file.text, span, form);
  return found ? { file: span.file, ...found } : { file: span.file, line: span.line, missing: `${span.file} has no line ${span.line}.` };
}

/** What a resolver's definition is. */
export function formOf({ body }: Resolver): DefinitionForm {
  return body.case === "sql" && !body.value.python ? "file" : "function";
}

/** A provider as a message. */
export function providerMessage({ kind, ...provider }: Provider) {
  return { ...provider, kind: PROVIDERS[kind] };
}

/** A version as a message. */
export function versionMessage({ dtype, internalVersion, isEnded }: KnownVersion): MessageInitShape<typeof FeatureVersionSchema> {
  return { internalVersion, type: typeText(dtype), ended: isEnded };
}

/** A type as people write it; of a has-many relation the class of its rows. */
function typeText(dtype: string): string {
  try {
    return typeName(fromJsonString(DataTypeSchema, dtype));
  } catch {
    return fromJsonString(HasManySchema, dtype, { ignoreUnknownFields: true }).foreignNamespace;
  }
}

/**
 * Hours as one; undefined without any. The distribution is for those who may read stored values.
 * `before` are the hours that they are compared with.
 */
export function statisticsMessage(
  hours: readonly FeatureHour[],
  mayReadValues: boolean,
  before: readonly FeatureHour[] = [],
): MessageInitShape<typeof FeatureStatisticsSchema> | undefined {
  const [first] = hours;
  if (!first) return undefined;
  const sum = (of: (hour: FeatureHour) => number) => BigInt(hours.reduce((all, hour) => all + of(hour), 0));
  const ages = new ExponentialHistogram();
  for (const hour of hours) ages.mergeEncoded(hour.ages);
  const medianAgeSeconds = ages.quantile(0.5);
  const drift = driftOf(hours, before);
  return {
    startTime: msToTimestamp(first.at),
    count: sum(({ count }) => count),
    nulls: sum(({ nulls }) => nulls),
    errors: sum(({ errors }) => errors),
    ...(medianAgeSeconds !== undefined && { medianAgeSeconds }),
    ...(drift !== undefined && { drift }),
    ...(mayReadValues && distribution(hours)),
  };
}

function distribution(hours: readonly FeatureHour[]): MessageInitShape<typeof FeatureStatisticsSchema> {
  const sketch = mergedSketches(hours);
  if (!sketch || sketch.count === 0) return {};
  const sampled = BigInt(sketch.count);
  if (sketch.kind === "values") return { sampled, values: sketch.values().map(([value, count]) => ({ value, count: BigInt(count) })) };
  const quantiles = QUANTILES.flatMap((share) => {
    const value = sketch.quantile(share);
    return value === undefined ? [] : [{ share, value }];
  });
  const buckets = sketch.buckets();
  const together = Math.ceil(buckets.length / MOST_BINS);
  const bins = Array.from({ length: Math.ceil(buckets.length / together) }, (_, at) =>
    buckets.slice(at * together, (at + 1) * together),
  ).map((part) => ({
    lower: part[0]?.from ?? 0,
    upper: part.at(-1)?.to ?? 0,
    count: BigInt(part.reduce((all, { count }) => all + count, 0)),
  }));
  return { sampled, quantiles, bins };
}
