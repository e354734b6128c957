/** What a deployment changes, as text and as JSON. */

import { ChangeKind, type DeploymentDiff, type FeatureChange, type ResolverChange } from "../../../gen/svc/v1/deployment_pb.ts";
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

const version = (number: number) => (number === 0 ? "-" : String(number));

const RESOLVER_COLUMNS: readonly Column<ResolverChange>[] = [
  { header: "Name", cell: ({ fqn }) => fqn },
  { header: "Old Version", align: "right", cell: ({ oldVersion }) => version(oldVersion) },
  { header: "New Version", align: "right", cell: ({ newVersion }) => version(newVersion) },
];
const FEATURE_COLUMNS: readonly Column<FeatureChange>[] = [
  { header: "Name", cell: ({ fqn }) => readableName(fqn) },
  { header: "Cache?", cell: (change) => cacheOf(change) ?? "" },
  { header: "Owner", cell: ({ feature }) => feature?.owner ?? "" },
];
const CHANGED_COLUMNS: readonly Column<FeatureChange>[] = [
  ...FEATURE_COLUMNS,
  { header: "Change", cell: ({ details }) => details.join("; ") },
];
const REMOVED_COLUMNS: readonly Column<FeatureChange>[] = [{ header: "Name", cell: ({ fqn }) => readableName(fqn) }];

/** Tables under the titles `Added Resolvers`, `Added Features` and so on; one line when nothing changes. */
export function diffText(diff: DeploymentDiff, style: Style): string {
  const sections: string[] = [];
  for (const kind of KINDS) {
    const resolvers = diff.resolvers.filter(({ change }) => change === kind);
    if (resolvers.length > 0) sections.push(section(`${TITLES[kind]} Resolvers`, RESOLVER_COLUMNS, resolvers, style));
  }
  for (const kind of KINDS) {
    const features = diff.features.filter(({ change }) => change === kind);
    const columns = kind === ChangeKind.ADDED ? FEATURE_COLUMNS : kind === ChangeKind.CHANGED ? CHANGED_COLUMNS : REMOVED_COLUMNS;
    if (features.length > 0) sections.push(section(`${TITLES[kind]} Features`, columns, features, style));
  }
  return sections.length > 0 ? sections.join("\n") : "No resolvers or features change.";
}

function section<Row>(title: string, columns: readonly Column<Row>[], rows: readonly Row[], style: Style): string {
  return `${style.bold(title)}\n${new TableLayout(columns, style).rows(rows)}`;
}

/** The diff as JSON. */
export function diffJson(diff: DeploymentDiff): Record<string, unknown> {
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
  };
}

function cacheOf({ feature }: FeatureChange): string | undefined {
  const ms = feature?.maxStaleness ? durationToMs(feature.maxStaleness) : 0;
  return ms > 0 ? formatDuration(ms) : undefined;
}

function kindName(kind: ChangeKind): string {
  return (ChangeKind[kind] ?? "unspecified").toLowerCase();
}
