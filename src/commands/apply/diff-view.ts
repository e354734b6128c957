/** The changes of a deployment, as text and as JSON. */

import {
  ChangeKind,
  type DeploymentDiff,
  type EvaluationChange,
  type FeatureChange,
  type FunctionChange,
  type MonitorChange,
  type ResolverChange,
} from "../../../gen/svc/v1/deployment_pb.ts";
import type { Feature } from "../../../gen/svc/v1/graph_pb.ts";
import type { Plan } from "../../deploy/deploy.ts";
import { formatDuration } from "../../domain/duration.ts";
import { readableName } from "../../domain/name.ts";
import { durationToMs } from "../../domain/proto-time.ts";
import { TableLayout } from "../../output/table.ts";
import type { Column, Style } from "../../output/view.ts";

const KINDS = [ChangeKind.ADDED, ChangeKind.CHANGED, ChangeKind.REMOVED] as const;
const TITLES: Readonly<Record<(typeof KINDS)[number], string>> = {
  [ChangeKind.ADDED]: "Added",
  [ChangeKind.CHANGED]: "Changed",
  [ChangeKind.REMOVED]: "Removed",
};

/** Rows of a section above which a terminal shows only the first ones and their number. */
const FOLD_ABOVE = 30;
const SHOWN_OF_FOLDED = 25;
/** Most features named in the note on cached values that remain. */
const MAX_NAMED_FEATURES = 5;

const version = (number: number) => (number === 0 ? "-" : String(number));

/** A change of what goes by a name. */
type NamedChange = EvaluationChange | FunctionChange | MonitorChange;
type Change = ResolverChange | FeatureChange | NamedChange;

const MARKS: Readonly<Record<(typeof KINDS)[number], (text: string, style: Style) => string>> = {
  [ChangeKind.ADDED]: (text, style) => style.green(text),
  [ChangeKind.CHANGED]: (text, style) => style.yellow(text),
  [ChangeKind.REMOVED]: (text, style) => style.red(text),
};

function resolverColumns(kind: (typeof KINDS)[number]): readonly Column<ResolverChange>[] {
  return [
    { header: "Name", cell: ({ fqn }) => fqn, style: MARKS[kind] },
    { header: "Old Version", align: "right", cell: ({ oldVersion }) => version(oldVersion) },
    { header: "New Version", align: "right", cell: ({ newVersion }) => version(newVersion) },
  ];
}

function featureColumns(kind: (typeof KINDS)[number]): readonly Column<FeatureChange>[] {
  const name: Column<FeatureChange> = { header: "Name", cell: ({ fqn }) => readableName(fqn), style: MARKS[kind] };
  if (kind === ChangeKind.REMOVED) return [name];
  const facts: Column<FeatureChange>[] = [
    name,
    { header: "Cache?", cell: (change) => cacheOf(change) ?? "" },
    { header: "Owner", cell: ({ feature }) => feature?.owner ?? "" },
  ];
  if (kind === ChangeKind.ADDED) return facts;
  return [...facts, { header: "Change", flexible: true, cell: ({ details }) => details.join("; ") }];
}

function namedColumns(kind: (typeof KINDS)[number]): readonly Column<NamedChange>[] {
  const name: Column<NamedChange> = { header: "Name", cell: (change) => change.name, style: MARKS[kind] };
  return kind === ChangeKind.CHANGED ? [name, { header: "Change", flexible: true, cell: ({ details }) => details.join("; ") }] : [name];
}

/**
 * Tables with the titles `Added Resolvers`, `Added Features` and so on, then the plan on one line,
 * just above the question; one line when nothing changes. Cached values that outlive their
 * resolvers are named at the end. A terminal shows only the first rows of long tables.
 */
export function diffText({ diff, outliving }: Plan, style: Style): string {
  const { evaluations, features, functions, monitors, resolvers } = diff;
  if ([resolvers, features, monitors, evaluations, functions].every(({ length }) => length === 0))
    return "No resolvers or features change.";
  const sections = [
    ...KINDS.map((kind) => section(`${TITLES[kind]} Resolvers`, resolverColumns(kind), ofKind(resolvers, kind), style)),
    ...KINDS.map((kind) => section(`${TITLES[kind]} Features`, featureColumns(kind), ofKind(features, kind), style)),
    ...KINDS.map((kind) => section(`${TITLES[kind]} Monitors`, namedColumns(kind), ofKind(monitors, kind), style)),
    ...KINDS.map((kind) => section(`${TITLES[kind]} Evaluations`, namedColumns(kind), ofKind(evaluations, kind), style)),
    ...KINDS.map((kind) => section(`${TITLES[kind]} Functions`, namedColumns(kind), ofKind(functions, kind), style)),
  ];
  return [...sections.filter((text) => text !== ""), style.bold(planLine(diff)), ...outlivingLines(outliving)].join("\n");
}

/** The note on cached values that remain, and how to compute one anew. */
function outlivingLines(features: readonly Feature[]): string[] {
  const [first] = features;
  if (!first) return [];
  const named = features.slice(0, MAX_NAMED_FEATURES).map((feature) => `${readableName(feature.fqn)} (${stalenessOf(feature)})`);
  const rest = features.length > MAX_NAMED_FEATURES ? ` and ${features.length - MAX_NAMED_FEATURES} more` : "";
  return [
    `Values that are cached already stay until they are that old: ${named.join(", ")}${rest}`,
    `To compute one anew: svc query --staleness ${first.fqn}=0s --out ${first.fqn} --in ...`,
  ];
}

function ofKind<C extends Change>(changes: readonly C[], kind: ChangeKind): C[] {
  return changes.filter(({ change }) => change === kind);
}

function section<Row>(title: string, columns: readonly Column<Row>[], rows: readonly Row[], style: Style): string {
  if (rows.length === 0) return "";
  const isFolded = style.isTTY && rows.length > FOLD_ABOVE;
  const shown = isFolded ? rows.slice(0, SHOWN_OF_FOLDED) : rows;
  const rest = isFolded ? style.dim(`... and ${rows.length - shown.length} more; a pipe or --json gets them all\n`) : "";
  return `${style.bold(title)}\n${new TableLayout(columns, style).rows(shown)}${rest}`;
}

/** `Plan: 1 resolver changed; 505 features added, 39 removed`. */
function planLine({ resolvers, features, monitors, evaluations, functions }: DeploymentDiff): string {
  const counted = (noun: string, changes: readonly Change[]): string[] => {
    const counts = KINDS.flatMap((kind) => {
      const count = ofKind(changes, kind).length;
      return count === 0 ? [] : [{ count, word: (TITLES[kind] as string).toLowerCase() }];
    });
    const [first, ...more] = counts;
    if (!first) return [];
    const plural = first.count === 1 ? noun : `${noun}s`;
    return [[`${first.count} ${plural} ${first.word}`, ...more.map(({ count, word }) => `${count} ${word}`)].join(", ")];
  };
  const parts = [
    ...[...counted("resolver", resolvers), ...counted("feature", features)],
    ...[...counted("monitor", monitors), ...counted("evaluation", evaluations)],
    ...counted("function", functions),
  ];
  return `Plan: ${parts.join("; ")}`;
}

/** The diff as JSON. */
export function diffJson({ diff, outliving }: Plan): Record<string, unknown> {
  return {
    base_deployment_id: diff.baseDeploymentId || null,
    resolvers: diff.resolvers.map(({ fqn, change, oldVersion, newVersion }) => ({
      fqn,
      change: kindName(change),
      old_version: oldVersion || null,
      new_version: newVersion || null,
    })),
    features: diff.features.map((change) => ({
      fqn: change.fqn,
      change: kindName(change.change),
      cache: cacheOf(change) ?? null,
      owner: change.feature?.owner || null,
      details: change.details,
    })),
    monitors: diff.monitors.map(namedJson),
    evaluations: diff.evaluations.map(namedJson),
    functions: diff.functions.map(namedJson),
    cached_values_kept: outliving.map((feature) => ({ fqn: feature.fqn, max_staleness: stalenessOf(feature) })),
  };
}

function namedJson({ name, change, details }: NamedChange): Record<string, unknown> {
  return { name, change: kindName(change), details };
}

function cacheOf({ feature }: FeatureChange): string | undefined {
  return feature && stalenessOf(feature);
}

/** The maximum age of a cached value; undefined for a feature that is not cached. */
function stalenessOf({ maxStaleness }: Feature): string | undefined {
  const ms = maxStaleness ? durationToMs(maxStaleness) : 0;
  return ms > 0 ? formatDuration(ms) : undefined;
}

function kindName(kind: ChangeKind): string {
  return (ChangeKind[kind] ?? "unspecified").toLowerCase();
}
