/**
 * Plans of child rows: the needs of a has-many relation's rows, and the plan that computes them
 * from the features of their source.
 */

import { ErrorCode } from "../../../../gen/svc/v1/error_pb.ts";
import type { CompiledExpression, RelationReference } from "../../expressions/compiled.ts";
import { allOf, anyOf, restricted, testText } from "../../expressions/row-test.ts";
import type { GraphIndex } from "../graph/graph-index.ts";
import type { ManyInfo, NamespaceInfo, RowsParameter, ScalarInfo } from "../graph/index-types.ts";
import { guesses, QueryRefused, refusal } from "../refusal.ts";
import { resolveName } from "../request/names.ts";
import { outputFeatures } from "../request/resolve.ts";
import type { SlotId } from "./ids.ts";
import type { GivenChildren, OutputFeature, Plan, PlanRows, PlanShape, RowsNeeds, RowsSourceKind } from "./plan.ts";

/**
 * Most times that a recursive relation is followed on the way to child rows, so that the recursion
 * ends.
 */
const MAX_PASSES = 2;
/** Most relations passed on the way to child rows. */
const MAX_NESTING = 8;

/** The needs of an expression that reads child rows. */
export function needsOfRelation({ references, test }: Pick<RelationReference, "references" | "test">): RowsNeeds {
  return {
    paths: new Set(references.columns),
    all: false,
    relations: new Map(references.relations.map((relation) => [relation.path, needsOfRelation(relation)])),
    test,
  };
}

/** The needs of a parameter that reads child rows; `filters` are its conditions. */
export function needsOfParameter(rows: RowsParameter, filters: readonly CompiledExpression[]): RowsNeeds {
  const time = rows.limit > 0 ? rows.many.foreign.featureTime : undefined;
  const own: RowsNeeds = {
    paths: new Set([...rows.columns.map((column) => column.path), ...(time ? [time.name] : [])]),
    all: rows.columns.length === 0,
    relations: new Map(),
  };
  return { ...mergeNeeds([own, ...filters.map(needsOfRelation)]), test: allOf(filters.map((filter) => filter.test)) };
}

/** All needs together. */
export function mergeNeeds(needs: readonly RowsNeeds[]): RowsNeeds {
  const relations = new Map<string, RowsNeeds>();
  for (const one of needs)
    for (const [path, inner] of one.relations)
      relations.set(path, mergeNeeds([inner, ...(relations.has(path) ? [relations.get(path) as RowsNeeds] : [])]));
  const test = needs.length === 0 ? undefined : anyOf(needs.map((one) => one.test));
  return { paths: new Set(needs.flatMap((one) => [...one.paths])), all: needs.some((one) => one.all), relations, test };
}

/** Needs as text, the same for the same needs. */
export function needsKey({ paths, all, relations, test }: RowsNeeds): string {
  const inner = [...relations].map(([path, needs]) => `${path}(${needsKey(needs)})`);
  return `${[...paths].sort().join(" ")}${all ? "*" : ""} ${inner.sort().join(" ")}${test ? ` if ${testText(test)}` : ""}`;
}

/** A source of the rows of a relation, with the features that it provides. */
export interface RowsSource {
  readonly kind: RowsSourceKind;
  /** Features of the child that are known of every row; those of the join are the parent's. */
  readonly givens: readonly ScalarInfo[];
  /** Given with the query: features of the rows that its has-one relations lead to. */
  readonly nested?: GivenChildren;
}

/** The reason why rows of a relation are not looked for once more; undefined = they are. */
export function passedTooOften(index: GraphIndex, many: ManyInfo, shape: PlanShape): string | undefined {
  if ((shape.nesting?.length ?? 0) >= MAX_NESTING) return `its rows lie below ${MAX_NESTING} other has-many relations`;
  const passes = shape.nesting?.filter((passed) => passed === many).length ?? 0;
  return passes >= MAX_PASSES && index.recursive.relations.has(many.fqn) ? `it would follow ${many.fqn} once more` : undefined;
}

/** Plans the child rows. Throws QueryRefused when something that is needed has no provider. */
export function planChildren(
  index: GraphIndex,
  many: ManyInfo,
  source: RowsSource,
  needs: RowsNeeds,
  parent: PlanShape,
  plan: (shape: PlanShape) => Plan,
): PlanRows {
  const root = many.foreign;
  const nested = source.nested ?? { columns: [], rows: [] };
  const givens = [...source.givens, ...nested.columns.map((column) => column.key)];
  const columns = new Map<string, OutputFeature>();
  for (const path of needs.paths) columns.set(path, childOutput(index, many, path, undefined));
  const relations = new Map<string, OutputFeature>();
  for (const [path, inner] of needs.relations) relations.set(path, childOutput(index, many, path, inner));
  const wanted = [...columns.values(), ...relations.values()];
  const optional = [...(needs.all ? wholeRow(root) : []), ...(root.featureTime ? [root.featureTime] : [])];
  const named = new Set(wanted.filter((output) => output.relations.length === 0).map((output) => output.feature));
  const extra = [...new Set(optional)].filter((feature) => !named.has(feature));
  const known = new Set(source.givens.map((feature) => feature.name));
  const child = plan({
    root,
    givens: [...source.givens.map((feature) => ({ relations: [], feature })), ...nested.columns],
    rows: nested.rows,
    outputs: [...wanted, ...extra.map((feature) => ({ relations: [], feature, named: false }))],
    tags: parent.tags,
    staleness: parent.staleness,
    options: parent.options,
    history: parent.history && { computed: "all" },
    nesting: [...(parent.nesting ?? []), many],
  });
  const positions = new Map<string, number>();
  for (const [position, path] of [...columns.keys()].entries()) positions.set(path, position);
  for (const [position, feature] of extra.entries())
    if (child.outputs[wanted.length + position]?.slot !== undefined) positions.set(feature.name, wanted.length + position);
  const whole = needs.all
    ? wholeRow(root).flatMap((feature) => {
        const position = positions.get(feature.name);
        return position === undefined ? [] : [position];
      })
    : [];
  return {
    many,
    source: source.kind,
    givens,
    test: source.kind === "sql" && !parent.options.disablePushdown ? restricted(needs.test, (path) => known.has(path)) : undefined,
    used: new Set(givens.filter((_, position) => isUsed(child, child.givenSlots[position]))),
    child,
    columns: positions,
    relations: new Map([...relations.keys()].map((path, position) => [path, columns.size + position])),
    whole,
    oldest: source.kind === "nearest" ? (feature) => staleMs(parent, feature) : undefined,
    isComplete: child.outputs.every(({ slot }) => slot === undefined || child.slot(slot).given >= 0),
  };
}

/** The oldest stored value of a feature that a query takes, milliseconds; 0 = none is taken. */
export function staleMs({ options, staleness }: PlanShape, feature: ScalarInfo): number {
  if (feature.featureId === undefined || !feature.storesOnline || options.disableCacheReads) return 0;
  return staleness.get(feature.fqn) ?? feature.stalenessMs;
}

/** The values of a whole row: of features with versions the default ones. */
function wholeRow(root: NamespaceInfo): ScalarInfo[] {
  return root.scalars.filter(({ isOldVersion }) => !isOldVersion);
}

/** Whether anybody reads a given slot. */
function isUsed(plan: Plan, id: SlotId | undefined): boolean {
  if (id === undefined) return false;
  const slot = plan.slot(id);
  if (slot.takers.length > 0 || slot.gates.length > 0 || plan.outputs.some((output) => output.slot === id)) return true;
  return slot.isKey && plan.slots.some((other) => other.frame === slot.frame && (other.readMs > 0 || other.stored));
}

function childOutput(index: GraphIndex, many: ManyInfo, path: string, needs: RowsNeeds | undefined): OutputFeature {
  const target = resolveName(index, `.${many.foreign.name}.${path}`, undefined);
  const [output] = target.kind === "unknown" ? [] : outputFeatures([target]);
  if (output) return needs ? { ...output, needs, pick: undefined } : output;
  throw new QueryRefused([
    refusal(ErrorCode.INVALID_QUERY, `${many.fqn}: ${target.kind === "unknown" ? target.describe(guesses()) : path}`, many.fqn),
  ]);
}
