/** Descriptions of classes and features, for an editor's hover and its list of suggestions. */

import type { Feature } from "../../../gen/svc/v1/graph_pb.ts";
import { formatDuration } from "../../domain/duration.ts";
import { readableName } from "../../domain/name.ts";
import { durationToMicros } from "../../domain/proto-time.ts";
import type { Rule } from "../../domain/rules/rule.ts";
import { typeName } from "../../domain/value.ts";
import type { Meaning, Vocabulary } from "./vocabulary.ts";

const NEVER_EXPIRES_S = 315_576_000_000;

/** The type in Python's notation; until the code was imported, the annotation as it is written. */
export function typeOf(vocabulary: Vocabulary, feature: Feature): string {
  const target = vocabulary.target(feature);
  if (target) return feature.kind.case === "hasMany" ? `DataFrame[${target.className}]` : target.className;
  const known = vocabulary.analyzed(feature) ?? feature;
  if (known.kind.case !== "scalar" || !known.kind.value.dtype) return vocabulary.annotation(feature);
  return `${typeName(known.kind.value.dtype)}${known.kind.value.nullable ? " | None" : ""}`;
}

/** Markdown: name and type, description, and facts such as windows, owner and tags. */
export function describe(vocabulary: Vocabulary, meaning: Meaning): string {
  return meaning.kind === "class" ? describeClass(vocabulary, meaning) : describeFeature(vocabulary, meaning.feature);
}

/** Markdown: the meaning of a rule, and how to read more. */
export function describeRule({ code, means, severity, title, why }: Rule): string {
  const head = `**${severity === "warning" ? "Warning" : "Error"} ${code}**: ${title}`;
  return paragraphs([head, `${means} ${why}`, `\`svc lint --explain ${code}\` shows an example.`]);
}

function describeClass(vocabulary: Vocabulary, { set }: Extract<Meaning, { kind: "class" }>): string {
  const known = vocabulary.sets.get(set.namespace) ?? set;
  const key = known.primaryKey ? `primary key \`${known.primaryKey}\`` : "";
  return paragraphs([
    code(`class ${set.className}`),
    set.description,
    facts([`namespace \`${set.namespace}\``, count(set.features.length, "feature"), key, owner(set.owner), tags(set.tags)]),
  ]);
}

function describeFeature(vocabulary: Vocabulary, feature: Feature): string {
  const known = vocabulary.analyzed(feature) ?? feature;
  const type = typeOf(vocabulary, feature);
  const producers = vocabulary.producers(feature);
  const scalar = known.kind.case === "scalar" ? known.kind.value : undefined;
  const traits = [
    scalar?.primary ? "primary key" : "",
    scalar?.featureTime ? "feature time" : "",
    scalar?.references ? `refers to \`${scalar.references}\`` : "",
    known.deprecated ? "deprecated" : "",
    known.maxStaleness ? `stored for ${staleness(known)}` : "",
  ];
  return paragraphs([
    code(`${readableName(feature.fqn)}${type ? `: ${type}` : ""}`),
    feature.description,
    facts([...traits, windows(vocabulary, feature), owner(feature.owner), tags(feature.tags)]),
    producers.length > 0 ? `resolved by ${producers.map(({ fqn }) => `\`${fqn}\``).join(", ")}` : "",
  ]);
}

/** The windows of a windowed feature, of which the named one is the first that was found. */
function windows(vocabulary: Vocabulary, feature: Feature): string {
  const base = windowedBase(feature);
  const all = vocabulary.sets.get(feature.namespace)?.features.filter((one) => base !== "" && windowedBase(one) === base) ?? [];
  const lengths = all.map(({ fqn }) => /\[(.+)\]$/.exec(readableName(fqn))?.[1] ?? fqn);
  return lengths.length > 0 ? `windows ${lengths.join(", ")}` : "";
}

function windowedBase({ kind }: Feature): string {
  return kind.case === "scalar" ? kind.value.windowedBase : "";
}

function staleness({ maxStaleness }: Feature): string {
  if (!maxStaleness) return "";
  return Number(maxStaleness.seconds) >= NEVER_EXPIRES_S ? "ever" : formatDuration(Number(durationToMicros(maxStaleness)) / 1000);
}

function code(text: string): string {
  return `\`\`\`python\n${text}\n\`\`\``;
}

function owner(text: string): string {
  return text ? `owner ${escaped(text)}` : "";
}

function tags(list: readonly string[]): string {
  return list.length > 0 ? `tags ${list.map((tag) => `\`${tag}\``).join(" ")}` : "";
}

function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? "" : "s"}`;
}

function facts(parts: readonly string[]): string {
  return parts.filter((part) => part !== "").join(" · ");
}

function paragraphs(parts: readonly string[]): string {
  return parts.filter((part) => part !== "").join("\n\n");
}

/** Text as Markdown shows it unchanged. */
function escaped(text: string): string {
  return text.replace(/[\\`*_{}[\]<>#|]/g, "\\$&");
}
