/** The sources of a deployment, each with what it is reached by, what needs it and how it does. */

import type { DataSourceJson, GraphJson } from "../../../../gen/svc/v1/graph_pb.ts";
import type { IntegrationJson } from "../../../../gen/svc/v1/integration_pb.ts";
import type { MetricSeriesJson } from "../../../../gen/svc/v1/metric_pb.ts";
import type { StreamStandingJson } from "../../../../gen/svc/v1/stream_pb.ts";
import type { LineageNode } from "../../../domain/lineage.ts";
import type { Tone } from "../../parts/status.tsx";
import { total } from "./last-hour.ts";

/** A source. */
export interface SourceRow {
  readonly name: string;
  /** As users write it: `postgresql`. */
  readonly kind: string;
  readonly isTopic: boolean;
  /** Undefined = an integration alone makes it one. */
  readonly declared: DataSourceJson | undefined;
  readonly integration: IntegrationJson | undefined;
  /** Why it cannot be used; empty = nothing is known against it. */
  readonly problem: string;
  /** What reads it in one step. */
  readonly users: readonly LineageNode[];
}

/** What sources are made of. */
export interface SourceParts {
  readonly graph: GraphJson;
  readonly integrations: readonly IntegrationJson[];
  readonly streams: readonly StreamStandingJson[];
  /** What reads a source in one step. */
  readonly usersOf: (name: string) => readonly LineageNode[];
}

const TOPICS: ReadonlySet<string> = new Set(["kafka", "topic"]);
/** Kinds of integrations that are sources of SQL without a declaration. */
const DATABASES: ReadonlySet<string> = new Set(["postgresql", "mysql", "clickhouse", "snowflake", "bigquery"]);
const BROKEN: ReadonlySet<string | undefined> = new Set(["STREAM_STATUS_FAILED", "STREAM_STATUS_RETRYING"]);

/** What variables of a source and of its integration begin with, by which they belong together. */
function prefixOf(name: string): string {
  return name.toUpperCase().replace(/[^A-Z0-9]+/g, "_");
}

/** The sources, those that the project declares first. */
export function sourceRows({ graph, integrations, streams, usersOf }: SourceParts): readonly SourceRow[] {
  const declared = graph.sources ?? [];
  const taken = new Set(declared.map(({ name = "" }) => prefixOf(name)));
  const own = declared.map((source): SourceRow => {
    const { name = "" } = source;
    const kind = (source.kind ?? "").replace("SOURCE_KIND_", "").toLowerCase();
    const integration = integrations.find((one) => prefixOf(one.name ?? "") === prefixOf(name));
    const stream = streams.find((one) => one.source === name && BROKEN.has(one.status));
    const mismatch =
      integration && integration.kind !== kind
        ? `it is ${kind} in the project, and the integration of that name is ${integration.kind}`
        : "";
    const problem = integration?.problem || mismatch || stream?.problem || "";
    return { name, kind, isTopic: TOPICS.has(kind), declared: source, integration, problem, users: usersOf(name) };
  });
  const others = integrations.flatMap((integration): SourceRow[] => {
    const { kind = "", name = "", problem = "" } = integration;
    if (!DATABASES.has(kind) || taken.has(prefixOf(name))) return [];
    return [{ name, kind, isTopic: false, declared: undefined, integration, problem, users: usersOf(name) }];
  });
  return [...own, ...others];
}

/** Statements of a source and those that failed, in the time of the series. */
export interface Asked {
  readonly count: number;
  readonly errors: number;
}

/** How often a source was asked, and how often that failed. */
export function askedOf(name: string, counts: readonly MetricSeriesJson[], errors: readonly MetricSeriesJson[]): Asked {
  const own = (series: readonly MetricSeriesJson[]) => series.filter(({ labels }) => labels?.source === name);
  return { count: total(own(counts)), errors: total(own(errors)) };
}

/** The state of a source in words. */
export function sourceState({ isTopic, problem, users }: SourceRow, { count, errors }: Asked): readonly [word: string, tone: Tone] {
  if (problem !== "") return ["cannot be used", "bad"];
  if (errors > 0) return [`${errors} of ${count} failed`, "warn"];
  if (count > 0) return ["answers", "good"];
  if (isTopic) return users.length > 0 ? ["read", "good"] : ["not read", "dim"];
  return ["not asked", "dim"];
}

/** The settings that the project gives, as text: `host db, port 5432`. */
export function settingsText({ settings = {} }: DataSourceJson): string {
  return Object.entries(settings)
    .map(([name, value]) => `${name} ${value}`)
    .join(", ");
}
