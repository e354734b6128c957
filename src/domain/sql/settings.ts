/** The values of a SQL file's header, checked (rule 146). */

import type { MessageInitShape } from "@bufbuild/protobuf";
import type { DurationSchema } from "@bufbuild/protobuf/wkt";
import { ResolverKind, RowCount } from "../../../gen/svc/v1/graph_pb.ts";
import { SCHEDULE_GRAMMAR, scheduleProblem } from "../cron.ts";
import { DURATION_GRAMMAR, parseDuration } from "../duration.ts";
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
  /** Columns that fill a feature of another name, with the span of the feature's name. */
  readonly fields?: readonly { readonly column: string; readonly feature: string; readonly start: number; readonly end: number }[];
}

/** A callback that is given the node of a bad value, the message and the label. */
export type BadValue = (node: YamlNode, message: string, label: string) => void;

const COUNTS: Readonly<Record<string, RowCount>> = {
  "1": RowCount.ONE,
  one: RowCount.ONE,
  one_or_none: RowCount.ONE_OR_NONE,
  all: RowCount.ALL,
};
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
  const texts = (key: HeaderKey): string[] => {
    const node = nodeOf(key);
    const items = node?.kind === "list" ? node.items : node && scalarText(node) !== undefined ? [node] : [];
    if (node && node.kind === "map") bad(node, `\`${key}\` must be a text or a list of texts`, "not a list");
    return items.flatMap((item) => {
      const found = scalarText(item)?.trim();
      if (found) return [found];
      bad(item, `\`${key}\` must hold texts`, "not a text");
      return [];
    });
  };
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

function orList(names: readonly string[]): string {
  return names.length < 2 ? names.join("") : `${names.slice(0, -1).join(", ")} or ${names.at(-1)}`;
}
