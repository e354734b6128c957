/** The features that parameters of resolvers and placeholders of queries read. */

import type { ResolverInput, RowsInput } from "../../../../gen/svc/v1/graph_pb.ts";
import { fromProtoValue } from "../../../domain/proto-value.ts";
import type { FeatureValue } from "../../../domain/value.ts";
import type { ManyInfo, Member, NamespaceInfo, ParameterInfo, RelationInfo, ScalarInfo } from "./index-types.ts";

/** The parameters of the index for one of a function: one, or one per column of a table. */
export function parameterInfos(input: ResolverInput, namespace: string, namespaces: ReadonlyMap<string, NamespaceInfo>): ParameterInfo[] {
  if (input.kind.case === "rows") return [rowsParameter(input.name, input.kind.value, namespace, namespaces)];
  if (input.kind.case !== "table") return [parameterInfo(input, namespace, namespaces)];
  return input.kind.value.columns.map((path) => {
    const found = followPath(path, namespace, namespaces);
    if (typeof found === "string") return brokenParameter(input.name, found);
    const table = { parameter: input.name, column: path };
    return { name: `${input.name}[${path}]`, now: false, ...found, optional: true, hasDefault: false, table };
  });
}

function rowsParameter(name: string, input: RowsInput, namespace: string, namespaces: ReadonlyMap<string, NamespaceInfo>): ParameterInfo {
  const found = followMany(input.path, namespace, namespaces);
  if (typeof found === "string") return brokenParameter(name, found);
  const { relations, many } = found;
  const columns = input.columns.map((column) => ({ name: column, path: childPath(column, input.path, many) }));
  return {
    name,
    now: false,
    relations,
    feature: many.rows,
    optional: input.optional,
    hasDefault: false,
    rows: { many, columns, filters: input.filters, limit: input.limit },
  };
}

/**
 * A column's path from the child's class; it may be written from there, from the child's namespace
 * or from the resolver's class.
 */
function childPath(column: string, path: string, many: ManyInfo): string {
  for (const prefix of [`${path}.`, `${many.foreign.name}.`]) if (column.startsWith(prefix)) return column.slice(prefix.length);
  return column;
}

function followMany(
  path: string,
  namespace: string,
  namespaces: ReadonlyMap<string, NamespaceInfo>,
): { relations: RelationInfo[]; many: ManyInfo } | string {
  const found = followRows(path, namespace, namespaces);
  if (typeof found === "string") return found;
  const { relations, member, isLast } = found;
  return member?.kind === "has_many" && isLast
    ? { relations, many: member }
    : `it reads the rows of ${path}, which is no has-many relation`;
}

/**
 * Follows the has-one relations of a path from a namespace; returns them with the member of the
 * last row that the path names, if it is not the row itself, or the reason why the path does not
 * begin here.
 */
function followRows(
  path: string,
  namespace: string,
  namespaces: ReadonlyMap<string, NamespaceInfo>,
): { relations: RelationInfo[]; member: Member | undefined; isLast: boolean; isRow: boolean } | string {
  const [root, ...segments] = path.split(".");
  if (root !== namespace) return `it reads ${path}, but what it produces belongs to ${namespace || "no class"}`;
  const relations: RelationInfo[] = [];
  let at = namespaces.get(root);
  for (const [index, segment] of segments.entries()) {
    const member = at?.members.get(segment);
    if (member?.kind !== "has_one") return { relations, member, isLast: index === segments.length - 1, isRow: false };
    relations.push(member);
    at = member.foreign;
  }
  return { relations, member: undefined, isLast: true, isRow: true };
}

function parameterInfo(input: ResolverInput, namespace: string, namespaces: ReadonlyMap<string, NamespaceInfo>): ParameterInfo {
  if (input.kind.case === "now") return { name: input.name, now: true, relations: [], optional: false, hasDefault: false };
  if (input.kind.case !== "feature") return brokenParameter(input.name, `its parameter ${input.name} reads no feature`);
  const { path, optional, defaultValue } = input.kind.value;
  const found = followPath(path, namespace, namespaces);
  if (typeof found === "string") return brokenParameter(input.name, found);
  return {
    name: input.name,
    now: false,
    ...found,
    optional: optional || defaultValue !== undefined,
    hasDefault: defaultValue !== undefined,
    defaultValue: defaultValue ? fromProtoValue(defaultValue) : undefined,
  };
}

/** A parameter that cannot be passed. */
export function brokenParameter(name: string, broken: string): ParameterInfo {
  return { name, now: false, relations: [], optional: false, hasDefault: false, broken };
}

/** The feature at the end of a path from a namespace, or what is wrong with the path. */
export function followPath(
  path: string,
  namespace: string,
  namespaces: ReadonlyMap<string, NamespaceInfo>,
): { relations: RelationInfo[]; feature: ScalarInfo } | string {
  const found = followRows(path, namespace, namespaces);
  if (typeof found === "string") return found;
  const { relations, member, isLast, isRow } = found;
  if (isRow) return `it reads ${path}, which is a whole row`;
  if (member?.kind === "has_many") return `it reads ${path}, which goes through a has-many relation`;
  return member?.kind === "scalar" && isLast ? { relations, feature: member } : `it reads ${path}, which does not exist`;
}

/** A parameter's path from a namespace, for example `flight.origin.latitude`. */
export function pathOf(
  namespace: string,
  to: { readonly relations: readonly RelationInfo[]; readonly feature?: { readonly name: string } | undefined },
): string {
  let path = namespace;
  for (const relation of to.relations) path += `.${relation.name}`;
  return to.feature ? `${path}.${to.feature.name}` : path;
}

/** The value passed for a parameter whose feature has none. */
export function absentArgument(parameter: ParameterInfo): FeatureValue {
  return parameter.defaultValue ?? null;
}
