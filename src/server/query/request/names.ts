/** Resolution of the names in a request. */

import { closestNames } from "../../../domain/closest.ts";
import { rawName, readableName } from "../../../domain/name.ts";
import type { GraphIndex } from "../graph/graph-index.ts";
import type { ManyInfo, NamespaceInfo, RelationInfo, ScalarInfo } from "../graph/index-types.ts";
import type { Guess } from "../refusal.ts";

/** A feature, reached from the root class through has-one relations. */
export interface FeatureTarget {
  readonly kind: "feature";
  readonly root: string;
  readonly relations: readonly RelationInfo[];
  readonly feature: ScalarInfo;
}

/** A class, or the row at the end of a relation. */
export interface RowTarget {
  readonly kind: "row";
  readonly root: string;
  /** Empty for the root class itself. */
  readonly relations: readonly RelationInfo[];
  readonly namespace: NamespaceInfo;
}

/** Several features under one name: the windows of a windowed feature. */
export interface GroupTarget {
  readonly kind: "group";
  readonly root: string;
  readonly relations: readonly RelationInfo[];
  readonly features: readonly ScalarInfo[];
}

/** Rows of a has-many relation, or features of them. */
export interface RowsTarget {
  readonly kind: "rows";
  readonly root: string;
  readonly relations: readonly RelationInfo[];
  readonly many: ManyInfo;
  /** Paths from the child's class; undefined = whole rows. */
  readonly picks: readonly string[] | undefined;
}

/** The meaning of a name. */
export type Target = FeatureTarget | RowTarget | GroupTarget | RowsTarget;

/** A name that is unknown, or cannot be used in an online query. */
export interface UnknownName {
  readonly kind: "unknown";
  /**
   * `unknown feature 'user.nmae'; did you mean 'user.name'?`; without the question when `guess`
   * forbids it.
   */
  readonly describe: (guess: Guess) => string;
  /** Whether the name exists but cannot be requested here. */
  readonly unsupported?: boolean;
}

/**
 * Reads a name. A leading dot makes it absolute; so does a first segment that is a namespace; every
 * other name is relative to `root`. Both forms of windowed names are accepted.
 */
export function resolveName(index: GraphIndex, text: string, root: string | undefined): Target | UnknownName {
  const name = rawName(text.trim());
  const dotted = name.startsWith(".");
  const segments = (dotted ? name.slice(1) : name).split(".");
  const absolute = dotted || index.namespaces.has(segments[0] as string);
  const rootName = absolute ? (segments.shift() as string) : root;
  const namespace = rootName === undefined ? undefined : index.namespaces.get(rootName);
  if (rootName === undefined || !namespace)
    return { kind: "unknown", describe: (guess) => unknown(index, text, name, rootName === undefined, guess) };
  const relations: RelationInfo[] = [];
  let at = namespace;
  for (const [position, segment] of segments.entries()) {
    const member = at.members.get(segment) ?? at.numbered.get(segment);
    const last = position === segments.length - 1;
    if (member === undefined) {
      const windows = last ? at.windows.get(segment) : undefined;
      if (windows) return { kind: "group", root: rootName, relations, features: windows };
      const [namespace, prefix] = [at, [rootName, ...segments.slice(0, position)].join(".")];
      return { kind: "unknown", describe: (guess) => unknownMember(index, text, namespace, prefix, segment, guess) };
    }
    if (member.kind === "has_many") return resolveRows(index, text, rootName, relations, member, segments.slice(position + 1));
    if (member.kind === "scalar") {
      if (last) return { kind: "feature", root: rootName, relations, feature: member };
      return {
        kind: "unknown",
        describe: () => `unknown feature '${text}': ${member.fqn} is a value (${member.typeName}) and has nothing below it`,
      };
    }
    relations.push(member);
    at = member.foreign;
  }
  return { kind: "row", root: rootName, relations, namespace: at };
}

/**
 * The namespace of the class in which a name is rooted; undefined when the name alone does not
 * determine it.
 */
export function absoluteRoot(index: GraphIndex, text: string): string | undefined {
  const name = text.trim();
  const first = (name.startsWith(".") ? name.slice(1) : name).split(".", 1)[0] as string;
  return index.namespaces.has(first) ? first : undefined;
}

function resolveRows(
  index: GraphIndex,
  text: string,
  root: string,
  relations: readonly RelationInfo[],
  many: ManyInfo,
  rest: readonly string[],
): Target | UnknownName {
  const base = { kind: "rows" as const, root, relations, many };
  if (rest.length === 0) return { ...base, picks: undefined };
  const path = rest.join(".");
  const target = resolveName(index, `.${many.foreign.name}.${path}`, undefined);
  if (target.kind === "unknown") {
    const written = `'.${many.foreign.name}.${path}'`;
    return { ...target, describe: (guess) => target.describe(guess).replace(written, () => `'${text}'`) };
  }
  if (target.kind === "group") {
    const parent = path.slice(0, path.lastIndexOf(".") + 1);
    return { ...base, picks: target.features.map((feature) => parent + feature.name) };
  }
  if (target.kind === "row")
    return {
      kind: "unknown",
      unsupported: true,
      describe: () =>
        `'${text}' is a whole row of every row of ${many.fqn}; name its features, for example '${text}.${target.namespace.scalars[0]?.name ?? "id"}'`,
    };
  return { ...base, picks: [path] };
}

function unknownMember(index: GraphIndex, text: string, at: NamespaceInfo, prefix: string, segment: string, guess: Guess): string {
  const windows = at.windows.get(segment.replace(/__\d+__$/, ""));
  if (windows && segment.endsWith("__")) {
    const listed = windows.map(({ name }) => `'${readableName(`${prefix}.${name}`)}'`).join(", ");
    return `unknown feature '${text}': there is no such window; the windows are ${listed}`;
  }
  if (!guess()) return sentence(text, []);
  const found = closestNames(segment, at.members.keys()).map((name) => `${prefix}.${name}`);
  if (segment === text) found.push(...closestNames(segment, index.namespaces.keys()));
  if (found.length < 3)
    for (const member of at.members.values())
      if (member.kind !== "scalar" && member.foreign.members.has(segment)) found.push(`${prefix}.${member.name}.${segment}`);
  if (found.length < 3) found.push(...closestNames(rawName(text).replace(/^\./, ""), index.scalars.keys()));
  return sentence(text, [...new Set(found)].slice(0, 3));
}

function unknown(index: GraphIndex, text: string, name: string, noRoot: boolean, guess: Guess): string {
  const plain = name.replace(/^\./, "");
  const [first = "", ...rest] = plain.split(".");
  const namesClass = noRoot && rest.length > 0 ? ` (there is no feature class '${first}')` : "";
  const why = noRoot && rest.length === 0 ? " (no input names a namespace, so the name must begin with one)" : namesClass;
  return sentence(text, guess() ? closestPaths(index, plain, first, rest, noRoot) : [], why);
}

function closestPaths(index: GraphIndex, plain: string, first: string, rest: readonly string[], noRoot: boolean): string[] {
  const found: string[] = [];
  for (const namespace of closestNames(first, index.namespaces.keys())) {
    const candidate = [namespace, ...rest].join(".");
    if (rest.length === 0 || index.scalars.has(candidate)) found.push(candidate);
  }
  found.push(...closestNames(plain, index.scalars.keys()));
  if (noRoot && rest.length === 0) for (const fqn of index.scalars.keys()) if (fqn.endsWith(`.${plain}`)) found.unshift(fqn);
  return [...new Set(found)].slice(0, 3);
}

function sentence(text: string, choices: readonly string[], why = ""): string {
  const quoted = choices.map((name) => `'${readableName(name)}'`);
  const last = quoted.pop();
  if (last === undefined) return `unknown feature '${text}'${why}; \`svc features list\` shows what there is`;
  return `unknown feature '${text}'${why}; did you mean ${quoted.length > 0 ? `${quoted.join(", ")} or ${last}` : last}?`;
}
