/**
 * The meaning of a project's names while it is edited: the analyzer's last graph, overlaid by the
 * current text.
 */

import type { Feature, FeatureSet, Graph, Resolver } from "../../../gen/svc/v1/graph_pb.ts";
import { nameFrom } from "./identifier.ts";
import { offsetsOf } from "./text-position.ts";

/** A class or a feature that a name leads to. */
export type Meaning =
  | { readonly kind: "class"; readonly set: FeatureSet }
  | { readonly kind: "feature"; readonly set: FeatureSet; readonly feature: Feature };

/** Text of a file by its path relative to the root. */
export type TextOf = (path: string) => string | undefined;

/** The names of a project. */
export class Vocabulary {
  /** By namespace. */
  readonly sets = new Map<string, FeatureSet>();
  readonly #byClass = new Map<string, FeatureSet>();
  readonly #analyzed = new Map<string, Feature>();
  readonly #producers = new Map<string, Resolver[]>();
  readonly #attributes = new Map<Feature, string>();
  readonly sources: readonly string[];

  /**
   * @param written the graph of the current text
   * @param analyzed the analyzer's last graph, which knows types and what resolvers produce; it may
   *    be behind the text
   */
  constructor(
    written: Graph,
    analyzed: Graph | undefined,
    readonly text: TextOf,
  ) {
    for (const graph of analyzed ? [analyzed, written] : [written]) {
      for (const set of graph.featureSets) {
        this.sets.set(set.namespace, set);
        this.#byClass.set(set.className, set);
      }
    }
    for (const set of analyzed?.featureSets ?? []) for (const feature of set.features) this.#analyzed.set(feature.fqn, feature);
    const resolvers = new Map(
      [...(analyzed?.resolvers ?? []), ...written.resolvers.filter(({ outputs }) => outputs.length > 0)].map((one) => [one.fqn, one]),
    );
    for (const resolver of resolvers.values())
      for (const output of resolver.outputs) this.#producers.set(output, [...(this.#producers.get(output) ?? []), resolver]);
    this.sources = [...new Set([...written.sources, ...(analyzed?.sources ?? [])].map(({ name }) => name))].sort();
  }

  /** The class of a Python name. */
  classNamed(name: string): FeatureSet | undefined {
    return this.#byClass.get(name);
  }

  /** The feature as the analyzer saw it, which has its type; undefined when it has not seen it. */
  analyzed(feature: Feature): Feature | undefined {
    return this.#analyzed.get(feature.fqn);
  }

  /** The resolvers that produce a feature, as far as is known. */
  producers(feature: Feature): readonly Resolver[] {
    return this.#producers.get(feature.fqn) ?? [];
  }

  /** The class that a relation leads to; undefined for a value. */
  target(feature: Feature): FeatureSet | undefined {
    return feature.kind.case === "hasOne" || feature.kind.case === "hasMany"
      ? this.sets.get(feature.kind.value.foreignNamespace)
      : undefined;
  }

  /**
   * The feature's name in Python: the attribute at its span, which `feature(name=...)` may set
   * apart from its name in queries.
   */
  attribute(feature: Feature): string {
    const known = this.#attributes.get(feature);
    if (known !== undefined) return known;
    const text = feature.span && this.text(feature.span.file);
    const written = text === undefined || !feature.span ? "" : nameFrom(text, offsetsOf(text, feature.span).from);
    const plain = feature.name.replace(/__\d+__$/, "");
    const attribute = /^\d|^$/.test(written) ? plain : written;
    this.#attributes.set(feature, attribute);
    return attribute;
  }

  /** The feature's type as its annotation is written, on one line; empty where there is none. */
  annotation({ span }: Feature): string {
    const text = span && this.text(span.file);
    if (text === undefined || !span) return "";
    const { from } = offsetsOf(text, span);
    const written = /^[ \t]*:([^=#\n]+)/.exec(text.slice(from + nameFrom(text, from).length))?.[1] ?? "";
    return written.trim().replace(/^(["'])(.*)\1$/, "$2");
  }

  /**
   * The meaning of names that are followed through relations from a class. `nameOf` gives the name
   * of a feature there.
   */
  follow(set: FeatureSet, names: readonly string[], nameOf: (feature: Feature) => string): Meaning | undefined {
    let meaning: Meaning = { kind: "class", set };
    for (const name of names) {
      const within: FeatureSet | undefined = meaning.kind === "class" ? meaning.set : this.target(meaning.feature);
      const feature: Feature | undefined = within?.features.find((candidate) => nameOf(candidate) === name);
      if (!within || !feature) return undefined;
      meaning = { kind: "feature", set: within, feature };
    }
    return meaning;
  }

  /** The class or feature that is defined at an offset. */
  definedAt(path: string, offset: number): Meaning | undefined {
    const text = this.text(path);
    if (text === undefined) return undefined;
    for (const set of this.sets.values()) {
      const holds = ({ span }: FeatureSet | Feature) => {
        if (span?.file !== path) return false;
        const { from, to } = offsetsOf(text, span);
        return from <= offset && offset <= to;
      };
      if (holds(set)) return { kind: "class", set };
      const feature = set.features.find(holds);
      if (feature) return { kind: "feature", set, feature };
    }
    return undefined;
  }
}
