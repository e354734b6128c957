/**
 * What the columns of an upload mean in a deployment: the rows of which classes they hold, the
 * values of which features, and when these were observed and known.
 */

import { didYouMean } from "../../domain/closest.ts";
import { rawName, readableName } from "../../domain/name.ts";
import type { GraphIndex } from "../query/graph/graph-index.ts";
import type { NamespaceInfo, ScalarInfo } from "../query/graph/index-types.ts";
import type { FeatureVersion } from "../stores/offline/store.ts";

/** The stores that an upload is for. */
export type UploadTarget = "both" | "online" | "offline";

/** What is said of an upload beside its columns. Times are epoch milliseconds. */
export interface UploadOptions {
  /**
   * The column with the times of the rows; empty = `__ts__`, or a class's feature time, if it is
   * there.
   */
  readonly timeColumn: string;
  /** The time of all rows; null = no column says it, and the upload's own time counts. */
  readonly time: number | null;
  /** The column with the times at which the rows were known; empty = there is none. */
  readonly knownAtColumn: string;
  /** The time at which all rows were known; null = when they are stored. */
  readonly knownAt: number | null;
  readonly target: UploadTarget;
}

/** A feature of the rows, and where its values go. */
export interface PlannedFeature {
  /** Position of its column. */
  readonly column: number;
  readonly feature: ScalarInfo;
  /** Its version in the history; undefined = its values do not go there. */
  readonly offline: FeatureVersion | undefined;
  /**
   * The longest staleness with which it is read online, in milliseconds; undefined = it is not
   * stored there.
   */
  readonly onlineMs: number | undefined;
}

/** The rows of one class. */
export interface PlannedRows {
  readonly namespace: string;
  readonly key: { readonly column: number; readonly feature: ScalarInfo };
  readonly features: readonly PlannedFeature[];
  /** Position of the column with their times; undefined = they have the upload's. */
  readonly time: number | undefined;
}

/** The meaning of an upload's columns. */
export interface UploadPlan {
  /** Names of the columns, as they came. */
  readonly columns: readonly string[];
  readonly rows: readonly PlannedRows[];
  /** Position of the column with the times at which the rows were known. */
  readonly knownAt: number | undefined;
}

/** The deployment that an upload is checked against. */
export interface UploadDeployment {
  readonly index: Pick<GraphIndex, "namespaces" | "scalars" | "relations">;
  /** The versions of the features that are stored offline, by feature id. */
  readonly offline: ReadonlyMap<number, FeatureVersion>;
  /** The longest staleness with which features are read, in milliseconds, by feature id. */
  readonly staleness: ReadonlyMap<number, number>;
}

/** The column of times that needs no option. */
const TIME_COLUMN = "__ts__";
/** Most columns of an upload. */
const MOST_COLUMNS = 2_000;
/** Most problems that are told at once. */
export const MOST_PROBLEMS = 20;

/** A reason why an upload is refused. */
export interface UploadProblem {
  /** From 1; 0 = it is not about a row. */
  readonly row: number;
  /** Empty = it is not about a column. */
  readonly column: string;
  readonly message: string;
}

/** An upload is refused as a whole. */
export class UploadRefused extends Error {
  override readonly name = "UploadRefused";
  constructor(readonly problems: readonly UploadProblem[]) {
    super(problems.map(problemText).join("\n"));
  }
}

/** A problem with its place. */
function problemText({ row, column, message }: UploadProblem): string {
  const place = [...(row > 0 ? [`row ${row}`] : []), ...(column === "" ? [] : [`column ${column}`])].join(", ");
  return place === "" ? message : `${place}: ${message}`;
}

/** The feature of an FQN; a default version also goes by its number. */
function featureNamed({ namespaces, scalars }: UploadDeployment["index"], fqn: string): ScalarInfo | undefined {
  const dot = fqn.indexOf(".");
  return scalars.get(fqn) ?? namespaces.get(fqn.slice(0, dot))?.numbered.get(fqn.slice(dot + 1));
}

/** The meaning of columns. Throws UploadRefused with all that is wrong with them. */
export function planUpload(columns: readonly string[], options: UploadOptions, deployment: UploadDeployment): UploadPlan {
  const problems: UploadProblem[] = [];
  const wrong = (column: string, message: string): void => {
    if (problems.length < MOST_PROBLEMS) problems.push({ row: 0, column, message });
  };
  if (columns.length > MOST_COLUMNS)
    throw new UploadRefused([{ row: 0, column: "", message: `an upload has at most ${MOST_COLUMNS} columns` }]);

  const { timeColumn, knownAtColumn } = options;
  const places = placesOf(columns, wrong);
  const timeAt = placeOfOption(timeColumn || (places.has(TIME_COLUMN) ? TIME_COLUMN : ""), places, columns, wrong);
  const knownAt = placeOfOption(knownAtColumn, places, columns, wrong);
  if (timeAt !== undefined && options.time !== null)
    wrong("", `both a time for all rows and the column ${columns[timeAt]} say when they were observed`);
  if (knownAt !== undefined && options.knownAt !== null)
    wrong("", `both a time for all rows and the column ${columns[knownAt]} say when they were known`);

  const { index } = deployment;
  const byNamespace = new Map<NamespaceInfo, { readonly column: number; readonly feature: ScalarInfo }[]>();
  for (const [fqn, column] of places) {
    const feature = featureNamed(index, fqn);
    if (feature) {
      const namespace = index.namespaces.get(feature.namespace) as NamespaceInfo;
      byNamespace.set(namespace, [...(byNamespace.get(namespace) ?? []), { column, feature }]);
    } else if (column !== timeAt && column !== knownAt)
      wrong(columns[column] as string, unknownText(fqn, columns[column] as string, index));
  }

  const rows = [...byNamespace].flatMap(([namespace, features]) => {
    const key = features.find(({ feature }) => feature.primary);
    if (!key) {
      const { primaryKey, className } = namespace;
      wrong(
        primaryKey?.fqn ?? namespace.name,
        primaryKey ? `it is missing: the rows of ${className} are known by it` : `${className} has no primary key`,
      );
      return [];
    }
    const others = features.filter(({ feature }) => !feature.primary);
    if (others.length === 0)
      wrong(columns[key.column] as string, `no other feature of ${namespace.className} is there, so there is nothing to store`);
    const own = timeAt ?? features.find(({ feature }) => feature.featureTime)?.column;
    if (timeAt === undefined && own !== undefined && options.time !== null)
      wrong(columns[own] as string, "it says when the rows were observed, and so does the time for all rows");
    const planned = others.map((one) => plannedFeature(one, options.target, deployment));
    for (const { column, feature, offline, onlineMs } of planned)
      if (!offline && onlineMs === undefined) wrong(columns[column] as string, notStoredText(feature, options.target));
    return [{ namespace: namespace.name, key, features: planned, time: own }];
  });
  if (byNamespace.size === 0 && problems.length === 0) wrong("", "no column is a feature: name columns like user.id and user.score");
  if (problems.length > 0) throw new UploadRefused(problems);
  return { columns, rows, knownAt };
}

/** Positions of columns by their fully qualified names. */
function placesOf(columns: readonly string[], wrong: (column: string, message: string) => void): ReadonlyMap<string, number> {
  const places = new Map<string, number>();
  for (const [position, name] of columns.entries()) {
    const fqn = rawName(name);
    if (places.has(fqn)) wrong(name, "it is there twice");
    else places.set(fqn, position);
  }
  return places;
}

function placeOfOption(
  name: string,
  places: ReadonlyMap<string, number>,
  columns: readonly string[],
  wrong: (column: string, message: string) => void,
): number | undefined {
  if (name === "") return undefined;
  const place = places.get(rawName(name));
  if (place === undefined) wrong(name, `there is no such column${meant(name, columns)}`);
  return place;
}

/** A feature with the places where its values go. */
export function plannedFeature(
  { column, feature }: { readonly column: number; readonly feature: ScalarInfo },
  target: UploadTarget,
  { offline, staleness }: Pick<UploadDeployment, "offline" | "staleness">,
): PlannedFeature {
  const id = feature.featureId;
  const isForOnline = target !== "offline" || feature.followsOffline;
  const readMs = id === undefined ? 0 : (staleness.get(id) ?? feature.stalenessMs);
  return {
    column,
    feature,
    offline: id === undefined || target === "online" ? undefined : offline.get(id),
    onlineMs: id === undefined || !isForOnline || !feature.storesOnline || readMs === 0 ? undefined : readMs,
  };
}

function notStoredText({ fqn }: ScalarInfo, target: UploadTarget): string {
  const name = readableName(fqn);
  const online = "the online store keeps it only with a max_staleness and without store_online=False";
  const offline = "the history keeps it only without store_offline=False, and none of a branch";
  return `${name} is not stored: ${target === "online" ? online : target === "offline" ? offline : `${online}, ${offline}`}`;
}

function unknownText(fqn: string, name: string, { namespaces, relations, scalars }: UploadDeployment["index"]): string {
  const [namespace = "", ...rest] = fqn.split(".");
  const member = namespaces.get(namespace)?.members.get(rest[0] ?? "");
  if (relations.has(fqn) || member?.kind === "has_many" || member?.kind === "has_one")
    return "it is a relation: upload the rows of its class by their own features";
  if (namespaces.get(namespace)?.windows.has(rest.join("."))) return `it is windowed: name one window, for example ${name}[1d]`;
  return `there is no such feature${meant(fqn, [...scalars.keys()])}`;
}

function meant(name: string, names: readonly string[]): string {
  const near = didYouMean(name, names.map(readableName));
  return near ? `; ${near}` : "";
}
