/**
 * The search for features: words that the name or description holds, and `owner:`, `tag:`, `type:`,
 * `kind:`, `resolver:` with a part of what they name. All of them have to fit.
 */

import type { FeatureMetadataJson } from "../../../../gen/svc/v1/graph_pb.ts";
import { readableName } from "../../../domain/name.ts";
import { featureKind, featureType } from "./feature-text.ts";

/** A feature with the texts that are searched, made once. */
export interface FoundFeature {
  readonly fqn: string;
  readonly metadata: FeatureMetadataJson;
  readonly texts: Readonly<Record<Field, string>>;
}

type Field = (typeof FIELDS)[number];
const FIELDS = ["any", "owner", "tag", "type", "kind", "resolver"] as const;

/** A feature as the search looks at it. */
export function searchable(metadata: FeatureMetadataJson): FoundFeature {
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
  return { fqn, metadata, texts: lowered(texts) };
}

/** The features that fit all words of a search, in their order. */
export function searchFeatures(features: readonly FoundFeature[], search: string): readonly FoundFeature[] {
  const words = search.toLowerCase().split(/\s+/).filter(Boolean).map(wordOf);
  return features.filter(({ texts }) => words.every(({ field, part }) => texts[field].includes(part)));
}

function wordOf(word: string): { readonly field: Field; readonly part: string } {
  const [name = "", part] = word.split(/:(.*)/s);
  const field = FIELDS.find((one) => one === name && one !== "any");
  return field && part !== undefined ? { field, part } : { field: "any", part: word };
}

function lowered(texts: Record<Field, string>): Record<Field, string> {
  return Object.fromEntries(Object.entries(texts).map(([field, text]) => [field, text.toLowerCase()])) as Record<Field, string>;
}
