/** Look-up of classes, features and paths in a graph. */

import type { Feature, FeatureSet, Graph } from "../../gen/svc/v1/graph_pb.ts";
import { numberedName, storedName } from "./feature-version.ts";

/** A path that leads to a feature. */
export interface FoundPath {
  readonly found: true;
  /** The class that the path starts from. */
  readonly root: FeatureSet;
  /** The relations it goes through, in order. */
  readonly relations: readonly Feature[];
  readonly feature: Feature;
  /** The path from the namespace, for example `flight.origin.latitude`. */
  readonly path: string;
}

/** A path that leads nowhere. */
export interface BrokenPath {
  readonly found: false;
  /** The segment that does not exist, or that is no relation and yet goes on. */
  readonly segment: string;
  /** Its index among the path's segments. */
  readonly index: number;
  /** The class it was looked for in; undefined when the root is unknown. */
  readonly within: FeatureSet | undefined;
}

/** Codes of findings that say that a part of the project could not be read. */
const UNREAD_CODES = new Set([101, 102, 103, 191]);

/**
 * The names by which the stores know features with versions, of FQNs, or of names in a namespace;
 * other names as they are.
 */
export function storedNames(graph: Graph, names: readonly string[], namespace = ""): string[] {
  const index = new GraphIndex(graph);
  return names.map((name) => {
    const feature = index.named(name) ?? index.named(`${namespace}.${name}`);
    return feature && feature.version !== 0 ? storedName(feature) : name;
  });
}

/** A graph with look-up by names. */
export class GraphIndex {
  readonly sets = new Map<string, FeatureSet>();
  readonly features = new Map<string, Feature>();
  readonly #byClass = new Map<string, FeatureSet>();
  /** Default versions by the name with their number. */
  readonly #numbered = new Map<string, Feature>();

  constructor(readonly graph: Graph) {
    for (const set of graph.featureSets) {
      this.sets.set(set.namespace, set);
      this.#byClass.set(set.className, set);
      for (const feature of set.features) {
        this.features.set(feature.fqn, feature);
        const numbered = numberedName(feature);
        if (numbered !== undefined) this.#numbered.set(numbered, feature);
      }
    }
  }

  /**
   * Whether parts of the project could not be read, so that what is missing here may still exist.
   */
  get isPartial(): boolean {
    return this.graph.diagnostics.some((diagnostic) => UNREAD_CODES.has(diagnostic.code));
  }

  /** The class of a Python class name or a namespace. */
  set(name: string): FeatureSet | undefined {
    return this.#byClass.get(name) ?? this.sets.get(name);
  }

  /** The feature of an FQN; a default version also goes by its number. */
  named(fqn: string): Feature | undefined {
    return this.features.get(fqn) ?? this.#numbered.get(fqn);
  }

  /** The feature that a dotted path from a namespace (or class name) leads to through relations. */
  resolvePath(path: string): FoundPath | BrokenPath {
    const segments = path.split(".");
    const root = this.set(segments[0] as string);
    if (!root) return { found: false, segment: segments[0] as string, index: 0, within: undefined };
    const relations: Feature[] = [];
    let within = root;
    for (let index = 1; index < segments.length; index++) {
      const segment = segments[index] as string;
      const feature = this.named(`${within.namespace}.${segment}`);
      if (!feature) return { found: false, segment, index, within };
      if (index === segments.length - 1)
        return { found: true, root, relations, feature, path: [root.namespace, ...segments.slice(1)].join(".") };
      const next = feature.kind.case === "scalar" ? undefined : this.sets.get(feature.kind.value?.foreignNamespace ?? "");
      if (!next) return { found: false, segment: segments[index + 1] as string, index: index + 1, within: undefined };
      relations.push(feature);
      within = next;
    }
    return { found: false, segment: "", index: segments.length, within };
  }
}
