/** The values of a SQL file's header, checked (rule 146). */

import type { MessageInitShape } from "@bufbuild/protobuf";
import type { DurationSchema } from "@bufbuild/protobuf/wkt";
import { IncrementalBasis, IncrementalMode, ResolverKind, RowCount } from "../../../gen/svc/v1/graph_pb.ts";
import { didYouMean } from "../closest.ts";
import { SCHEDULE_GRAMMAR, scheduleProblem } from "../cron.ts";
import { DURATION_GRAMMAR, parseDuration } from "../duration.ts";
import { msToDuration } from "../proto-time.ts";
import { readStaleness } from "../staleness.ts";
import { scalarText, type YamlNode } from "../yaml-tree.ts";
import type { HeaderKey, SqlHeader } from "./header.ts";

/** Settings of a SQL file resolver. */
export interface SqlSettings {
  readonly kind: ResolverKind;
  readonly count: RowCount;
  readonly tags: string[];
  readonly environments: string[];
  readonly owner: string;
  readonly timeout?: MessageInitShape<typeof DurationSchema>;
  readonly schedule: string;
  readonly total: boolean;
  readonly incremental?: IncrementalSettings;
  readonly maxStaleness?: MessageInitShape<typeof DurationSchema>;
  /** What `unique_on` names, with its place; absent = nothing. */
  readonly uniqueOn?: readonly NamedColumn[];
  /** Columns that fill a feature of another name, with the span of the feature's name. */
  readonly fields?: readonly { readonly column: string; readonly feature: string; readonly start: number; readonly end: number }[];
}

/** A name that a header lists. */
export interface NamedColumn {
  readonly name: string;
  readonly start: number;
  readonly end: number;
}

/** What a header says under `incremental`, which may be too little for its mode. */
export interface IncrementalSettings {
  readonly mode: IncrementalMode;
  /** Undefined = not given. */
  readonly column: { readonly name: string; readonly node: YamlNode } | undefined;
  readonly lookback: MessageInitShape<typeof DurationSchema> | undefined;
  readonly basis: IncrementalBasis;
  /** The value of the key. */
  readonly node: YamlNode;
}

/** A callback that is given the node of a bad value, the message and the label. */
export type BadValue = (node: YamlNode, message: string, label: string) => void;

const COUNTS: Readonly<Record<string, RowCount>> = {
  "1": RowCount.ONE,
  one: RowCount.ONE,
  one_or_none: RowCount.ONE_OR_NONE,
  all: RowCount.ALL,
};
const MODES: Readonly<Record<string, IncrementalMode>> = {
  row: IncrementalMode.ROW,
  group: IncrementalMode.GROUP,
  parameter: IncrementalMode.PARAMETER,
};
const BASES: Readonly<Record<string, IncrementalBasis>> = {
  feature_time: IncrementalBasis.MAX_INGESTED,
  resolver_execution_time: IncrementalBasis.LAST_EXECUTION,
};
const INCREMENTAL_KEYS = ["mode", "incremental_column", "lookback_period", "incremental_timestamp"];
/** Longest lookback: a hundred years. */
const LONGEST_LOOKBACK_MS = 36_500 * 86_400_000;
const KINDS: Readonly<Record<string, ResolverKind>> = { online: ResolverKind.ONLINE, offline: ResolverKind.OFFLINE };
/** Names that an environment may have. */
export const ENVIRONMENT_NAME = /^[\p{L}\p{N}][\p{L}\p{N}._-]*$/u;
/** Longest timeout: a day. */
const LONGEST_TIMEOUT_MS = 86_400_000;

/** The settings of a header; a bad value is reported and left at its default. */
export function readSettings(header: SqlHeader, bad: BadValue): SqlSettings {
  const nodeOf = (key: HeaderKey): YamlNode | undefined => header.entries.find((entry) => entry.known === key)?.value;
  const text = (key: HeaderKey): string | undefined => {
    const node = nodeOf(key);
    const found = scalarText(node);
    if (node && found === undefined) bad(node, `\`${key}\` must be a text`, "not a text");
    return found?.trim();
  };
  const word = <T>(key: HeaderKey, words: Readonly<Record<string, T>>, fallback: T): T => {
    const found = text(key);
    if (found === undefined) return fallback;
    const value = words[found.toLowerCase()];
    if (value !== undefined) return value;
    const names = Object.keys(words);
    bad(nodeOf(key) as YamlNode, `\`${key}\` is '${found}' but must be ${orList(names)}`, "not one of them");
    return fallback;
  };
  const namedIn = (key: HeaderKey): NamedColumn[] => {
    const node = nodeOf(key);
    const items = node?.kind === "list" ? node.items : node && scalarText(node) !== undefined ? [node] : [];
    if (node && node.kind === "map") bad(node, `\`${key}\` must be a text or a list of texts`, "not a list");
    return items.flatMap((item) => {
      const name = scalarText(item)?.trim();
      if (name) return [{ name, start: item.start, end: item.end }];
      bad(item, `\`${key}\` must hold texts`, "not a text");
      return [];
    });
  };
  const texts = (key: HeaderKey): string[] => namedIn(key).map(({ name }) => name);
  for (const key of ["resolves", "source"] as const) if (!isEmptyText(nodeOf(key))) text(key);
  const environments = texts("environment");
  const wrong = environments.find((name) => !ENVIRONMENT_NAME.test(name));
  if (wrong !== undefined)
    bad(nodeOf("environment") as YamlNode, `'${wrong}' is no name of an environment: letters, digits, '.', '_' and '-'`, "not a name");
  const totalNode = nodeOf("total");
  const total = totalNode?.kind === "scalar" && totalNode.value === true;
  if (totalNode && !(totalNode.kind === "scalar" && typeof totalNode.value === "boolean"))
    bad(totalNode, "`total` must be true or false", "not a boolean");
  const timeout = readTimeout(text("timeout"), nodeOf("timeout"), bad);
  const fields = readFields(nodeOf("fields"), bad);
  const incremental = readIncremental(nodeOf("incremental"), bad);
  const maxStaleness = readMaxStaleness(text("max_staleness"), nodeOf("max_staleness"), bad);
  const uniqueOn = namedIn("unique_on");
  return {
    kind: word("type", KINDS, ResolverKind.ONLINE),
    count: word("count", COUNTS, RowCount.UNSPECIFIED),
    tags: texts("tags"),
    environments,
    owner: text("owner") ?? "",
    schedule: readSchedule(text("cron"), nodeOf("cron"), bad),
    total,
    ...(timeout ? { timeout } : {}),
    ...(fields ? { fields } : {}),
    ...(incremental ? { incremental } : {}),
    ...(maxStaleness ? { maxStaleness } : {}),
    ...(uniqueOn.length > 0 ? { uniqueOn } : {}),
  };
}

/** Whether a value is empty or blank text. */
export function isEmptyText(node: YamlNode | undefined): boolean {
  return node?.kind === "scalar" && (scalarText(node) ?? "").trim() === "";
}

function readTimeout(text: string | undefined, node: YamlNode | undefined, bad: BadValue): SqlSettings["timeout"] {
  if (text === undefined || !node) return undefined;
  const ms = parseDuration(text);
  if (ms === undefined || ms <= 0 || ms > LONGEST_TIMEOUT_MS) {
    bad(node, `\`timeout\` is '${text}' but must be ${DURATION_GRAMMAR}, longer than zero and at most a day`, "not a timeout");
    return undefined;
  }
  return { seconds: BigInt(Math.floor(ms / 1000)), nanos: Math.round((ms % 1000) * 1e6) };
}

function readMaxStaleness(text: string | undefined, node: YamlNode | undefined, bad: BadValue): SqlSettings["maxStaleness"] {
  const found = text === undefined ? undefined : readStaleness(text);
  if (typeof found === "string" && node) bad(node, `\`max_staleness\` is '${text}' but must be ${found}, or infinity`, "not a duration");
  return typeof found === "number" ? msToDuration(found) : undefined;
}

function readSchedule(text: string | undefined, node: YamlNode | undefined, bad: BadValue): string {
  const problem = text === undefined ? undefined : scheduleProblem(text);
  if (problem && node) bad(node, `\`cron\` is '${text}' but must be ${SCHEDULE_GRAMMAR}: ${problem}`, "not a schedule");
  return problem === undefined ? (text ?? "") : "";
}

function readFields(node: YamlNode | undefined, bad: BadValue): SqlSettings["fields"] {
  if (!node) return undefined;
  if (node.kind !== "map") {
    bad(node, "`fields` must map columns to features, for example `fields: {uid: id}`", "not a mapping");
    return undefined;
  }
  return node.entries.flatMap((entry) => {
    const feature = scalarText(entry.value)?.trim();
    if (feature) return [{ column: entry.key, feature, start: entry.value.start, end: entry.value.end }];
    bad(entry.value, `\`fields\` must give the name of a feature for column '${entry.key}'`, "not a name");
    return [];
  });
}

/** The settings of incremental runs; undefined without a mode, which is reported. */
function readIncremental(node: YamlNode | undefined, bad: BadValue): IncrementalSettings | undefined {
  if (!node) return undefined;
  const shape = "for example `incremental: {mode: row, incremental_column: updated_at}`";
  if (node.kind !== "map") {
    bad(node, `\`incremental\` must be a mapping, ${shape}`, "not a mapping");
    return undefined;
  }
  const found = new Map<string, { readonly text: string; readonly node: YamlNode }>();
  for (const { key, value } of node.entries) {
    const plain = key.toLowerCase().replaceAll("-", "_");
    const text = scalarText(value)?.trim();
    if (!INCREMENTAL_KEYS.includes(plain))
      bad(value, `\`incremental\` has no key '${key}'; ${didYouMean(plain, INCREMENTAL_KEYS) || orList(INCREMENTAL_KEYS)}`, "no such key");
    else if (!text) bad(value, `\`${plain}\` must be a text`, "not a text");
    else found.set(plain, { text, node: value });
  }
  const word = <T>(key: string, words: Readonly<Record<string, T>>): T | undefined => {
    const given = found.get(key);
    const value = given && words[given.text.toLowerCase()];
    if (given && value === undefined)
      bad(given.node, `\`${key}\` is '${given.text}' but must be ${orList(Object.keys(words))}`, "not one of them");
    return value;
  };
  const mode = word("mode", MODES);
  if (mode === undefined && !found.has("mode")) bad(node, `\`incremental\` needs a \`mode\`: ${orList(Object.keys(MODES))}`, "no mode");
  const basis = word("incremental_timestamp", BASES) ?? IncrementalBasis.MAX_INGESTED;
  const lookback = found.get("lookback_period");
  const ms = lookback && parseDuration(lookback.text);
  if (lookback && (ms === undefined || ms < 0 || ms > LONGEST_LOOKBACK_MS))
    bad(lookback.node, `\`lookback_period\` is '${lookback.text}' but must be ${DURATION_GRAMMAR}, at most 100 years`, "not a duration");
  if (mode === undefined) return undefined;
  const column = found.get("incremental_column");
  return {
    ...{ mode, basis, node },
    column: column && { name: column.text, node: column.node },
    lookback: ms === undefined ? undefined : { seconds: BigInt(Math.floor(ms / 1000)), nanos: Math.round((ms % 1000) * 1e6) },
  };
}

function orList(names: readonly string[]): string {
  return names.length < 2 ? names.join("") : `${names.slice(0, -1).join(", ")} or ${names.at(-1)}`;
}
