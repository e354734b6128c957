/**
 * The search for features: words that the name or description holds; `owner:`, `tag:`, `type:`,
 * `kind:`, `resolver:` with a part of what they name; `unused:` for those that no query of the last
 * day asked for; and `stale:1h` for those whose served values are at least that old. All have to
 * fit.
 */

import type { FeatureMetadataJson } from "../../../../gen/svc/v1/graph_pb.ts";
import { parseDuration } from "../../../domain/duration.ts";
import { readableName } from "../../../domain/name.ts";
import { featureKind, featureType } from "./feature-text.ts";
import type { FeatureUse } from "./feature-use.ts";

/** A feature with the texts that are searched, made once. */
export interface FoundFeature {
  readonly fqn: string;
  readonly metadata: FeatureMetadataJson;
  readonly texts: Readonly<Record<Field, string>>;
  /** Undefined = it is not known. */
  readonly use: FeatureUse | undefined;
}

type Field = (typeof FIELDS)[number];
const FIELDS = ["any", "owner", "tag", "type", "kind", "resolver"] as const;

/** What is wrong with a search, and the offset where. */
export interface SearchProblem {
  readonly at: number;
  readonly message: string;
}

/** A feature as the search looks at it. */
export function searchable(metadata: FeatureMetadataJson, use?: FeatureUse): FoundFeature {
  const { feature = {}, resolvers = [] } = metadata;
  const fqn = readableName(feature.fqn ?? "");
  const texts = {
    any: `${fqn}\n${feature.fqn}\n${feature.description ?? ""}`,
    owner: feature.owner ?? "",
    tag: (feature.tags ?? []).join("\n"),
    type: featureType(feature),
    kind: featureKind(feature),
    resolver: resolvers.join("\n"),
  };
  return { fqn, metadata, texts: lowered(texts), use };
}

/** The features that fit all words of a search, in their order. */
export function searchFeatures(features: readonly FoundFeature[], search: string): readonly FoundFeature[] {
  const fits = wordsOf(search).map(({ text }) => testOf(text));
  return features.filter((feature) => fits.every((one) => one(feature)));
}

/** What is wrong with a search; undefined when it can be understood. */
export function featureSearchProblem(search: string): SearchProblem | undefined {
  for (const { at, text } of wordsOf(search)) {
    const [name = "", part = ""] = text.split(/:(.*)/s);
    if (name === "stale" && text.includes(":") && part !== "" && parseDuration(part) === undefined)
      return { at: at + name.length + 1, message: "An age is written such as stale:90s, stale:1h or stale:7d." };
    if (name === "unused" && part !== "") return { at: at + name.length + 1, message: "unused: takes nothing after it." };
  }
  return undefined;
}

function wordsOf(search: string): readonly { readonly text: string; readonly at: number }[] {
  return [...search.toLowerCase().matchAll(/\S+/g)].map(({ 0: text, index }) => ({ text, at: index }));
}

function testOf(word: string): (feature: FoundFeature) => boolean {
  const [name = "", part] = word.split(/:(.*)/s);
  if (name === "unused" && part === "") return ({ use }) => use?.requests === 0;
  const age = name === "stale" && part !== undefined ? parseDuration(part || "0s") : undefined;
  if (age !== undefined) return ({ use }) => use?.ageSeconds !== undefined && use.ageSeconds * 1_000 >= age;
  const field = FIELDS.find((one) => one === name && one !== "any");
  const [key, wanted] = field && part !== undefined ? [field, part] : ["any" as const, word];
  return ({ texts }) => texts[key].includes(wanted);
}

function lowered(texts: Record<Field, string>): Record<Field, string> {
  return Object.fromEntries(Object.entries(texts).map(([field, text]) => [field, text.toLowerCase()])) as Record<Field, string>;
}
