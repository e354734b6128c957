/**
 * Preparation of a query: its plan, and the values that it runs on. Everything but the values is
 * cached by the request's shape.
 */

import { ErrorCode } from "../../../../gen/svc/v1/error_pb.ts";
import { closestNames } from "../../../domain/closest.ts";
import type { FeatureValue } from "../../../domain/value.ts";
import type { GraphIndex } from "../graph/graph-index.ts";
import type { ManyInfo, NamespaceInfo, RelationInfo } from "../graph/index-types.ts";
import { pathOf } from "../graph/parameter-index.ts";
import { LruMap } from "../lru.ts";
import type { GivenChildren, GivenRow, PathFeature, Plan, PlanOutput, PlanShape } from "../plan/plan.ts";
import { planQuery } from "../plan/planner.ts";
import { type Guess, guesses, QueryRefused, type Refusal, Refusals, refusal } from "../refusal.ts";
import { BadGiven, type GivenList, givenList, givenRow, givenValue, givenWindows, zipped } from "./given.ts";
import { givenChildren, ownColumn } from "./given-children.ts";
import type { BulkInput, QueryRequest, RequestInput } from "./request.ts";
import { type NamedVersion, outputPath, type ResolvedInput, type ResolvedRequest, resolveRequest } from "./resolve.ts";

/** Most plans and resolved names that are cached per deployment. */
const REMEMBERED = 1_000;

/** Most names of a query. Each is looked up synchronously, while other queries wait. */
export const MAX_NAMES = 20_000;

/** A query ready to run. */
export interface Prepared {
  readonly plan: Plan;
  /** The given values in the order of `plan.givenSlots`. */
  readonly values: readonly FeatureValue[];
  /** Tags of the request and of its named query. */
  readonly tags: readonly string[];
  /** Outputs that were inferred because none were given. */
  readonly inferred: readonly string[];
  /** The named query that is meant; undefined = none is. */
  readonly named: NamedVersion | undefined;
  /** Whether the plan was made now, rather than cached. */
  readonly planned: boolean;
}

/** Rows of a bulk query that run together. */
export interface RowGroup {
  readonly plan: Plan;
  /** Their numbers in the query. */
  readonly rows: number[];
  /** For each given slot of the plan, a value per row. */
  readonly columns: FeatureValue[][];
}

/** Rows of a bulk query ready to run. */
export interface PreparedRows {
  readonly groups: readonly RowGroup[];
  /** Rows that are not run, and why. */
  readonly refused: ReadonlyMap<number, readonly Refusal[]>;
  /** The same, in the same order, for every group. */
  readonly outputs: readonly Pick<PlanOutput, "path" | "feature" | "pick">[];
  readonly tags: readonly string[];
  readonly inferred: readonly string[];
  readonly named: NamedVersion | undefined;
  readonly planned: boolean;
}

/** A request whose names are known, with its plan once that is made. */
interface Remembered {
  readonly resolved: ResolvedRequest;
  plan: Plan | undefined;
}

/** Prepares the queries of one deployment. */
export class Preparer {
  readonly #requests = new LruMap<Remembered>(REMEMBERED);
  readonly #plans = new LruMap<Plan>(REMEMBERED);
  /** The names of the query before, and its key: most queries have those of the one before. */
  #latest: { readonly names: Names; readonly key: string } | undefined;

  constructor(readonly index: GraphIndex) {}

  /**
   * Resolves names, converts values and plans. Throws QueryRefused with everything that is wrong.
   */
  prepare(request: QueryRequest): Prepared {
    const key = this.#keyOf(request);
    const remembered = this.#remember(request, key);
    const { shape, inferred, inputs, hasRows, named } = remembered.resolved;
    if (hasRows) return this.#prepareRows(request, key, remembered.resolved, guesses());
    const values: FeatureValue[] = new Array(request.inputs.length);
    const wrong = new Refusals();
    for (let i = 0; i < values.length; i++) {
      const { target, path } = inputs[i] as ResolvedInput;
      try {
        if (target.kind === "feature") values[i] = givenValue(target.feature, path, request.inputs[i] as RequestInput);
      } catch (error) {
        addBadGiven(wrong, error);
      }
    }
    wrong.check();
    const planned = remembered.plan === undefined;
    remembered.plan ??= planQuery(this.index, shape);
    return { plan: remembered.plan, values, tags: shape.tags, inferred, named, planned };
  }

  /**
   * Prepares rows of a bulk query. Rows whose values are wrong are refused one by one; rows of the
   * same shape share a plan. Throws QueryRefused when the query is wrong whatever its values.
   * @param request only the names of its inputs are used, not their values
   * @param from the first row
   * @param to the row after the last
   * @param guess shared by all rows of the query
   */
  prepareRows(request: QueryRequest, columns: readonly BulkInput[], from: number, to: number, guess: Guess = guesses()): PreparedRows {
    const key = this.#keyOf(request);
    const remembered = this.#remember(request, key);
    const { shape, inferred, inputs, hasRows, named } = remembered.resolved;
    const refused = new Map<number, readonly Refusal[]>();
    const groups = new Map<Plan, RowGroup>();
    if (!hasRows) {
      const planned = remembered.plan === undefined;
      remembered.plan ??= planQuery(this.index, shape);
      const group: RowGroup = { plan: remembered.plan, rows: [], columns: columns.map(() => []) };
      groups.set(remembered.plan, group);
      const values: FeatureValue[] = new Array(columns.length);
      for (let row = from; row < to; row++) {
        const wrong = new Refusals(guess);
        for (let i = 0; i < columns.length; i++) {
          const { target, path } = inputs[i] as ResolvedInput;
          try {
            if (target.kind === "feature") values[i] = givenValue(target.feature, path, (columns[i] as BulkInput).at(row));
          } catch (error) {
            addBadGiven(wrong, error);
          }
        }
        if (!wrong.isEmpty) refused.set(row, wrong.list());
        else add(group, row, values);
      }
      return { groups: [group], refused, outputs: group.plan.outputs, tags: shape.tags, inferred, named, planned };
    }
    let planned = false;
    for (let row = from; row < to; row++) {
      try {
        const prepared = this.#prepareRows(
          { ...request, inputs: columns.map((column) => column.at(row)) },
          key,
          remembered.resolved,
          guess,
        );
        planned ||= prepared.planned;
        let group = groups.get(prepared.plan);
        if (!group) {
          group = { plan: prepared.plan, rows: [], columns: prepared.values.map(() => []) };
          groups.set(prepared.plan, group);
        }
        add(group, row, prepared.values);
      } catch (error) {
        if (!(error instanceof QueryRefused)) throw error;
        refused.set(row, error.errors);
      }
    }
    const [first] = groups.values();
    const outputs =
      first?.plan.outputs ??
      shape.outputs.map((output) => ({ path: outputPath(shape.root.name, output), feature: output.feature, pick: output.pick }));
    return { groups: [...groups.values()], refused, outputs, tags: shape.tags, inferred, named, planned };
  }

  /** Throws QueryRefused when there are too many names. */
  #keyOf(request: QueryRequest): string {
    if (this.#latest && hasNames(request, this.#latest.names)) return this.#latest.key;
    checkNames(request);
    const key = keyOf(request);
    if (request.forcedResolver !== undefined) return key;
    const { outputs, tags, staleness, queryName, queryNameVersion, plannerOptions } = request;
    const inputs = request.inputs.map(({ name }) => name);
    this.#latest = { names: { inputs, outputs, tags, staleness, queryName, queryNameVersion, plannerOptions }, key };
    return key;
  }

  #remember(request: QueryRequest, key: string): Remembered {
    let remembered = this.#requests.get(key);
    if (!remembered) {
      remembered = { resolved: resolveRequest(this.index, request), plan: undefined };
      this.#requests.set(key, remembered);
    }
    return remembered;
  }

  /** Rows given whole become features given by path, so that the shape is known only now. */
  #prepareRows(request: QueryRequest, requestKey: string, resolved: ResolvedRequest, guess: Guess): Prepared {
    const givens: (PathFeature & { readonly value: FeatureValue })[] = [];
    const rows: GivenRow[] = [];
    const lists = new Map<string, { relations: readonly RelationInfo[]; many: ManyInfo; columns: GivenList[] }>();
    const wrong = new Refusals(guess);
    for (const [position, { target, path }] of resolved.inputs.entries()) {
      const input = request.inputs[position] as RequestInput;
      if (target.kind === "row") expandRow(target.namespace, target.relations, path, input, givens, rows, wrong);
      else if (target.kind === "rows" && target.picks)
        collect(wrong, () => {
          const at = pathOf(resolved.shape.root.name, { relations: target.relations, feature: target.many });
          const known = lists.get(at) ?? { relations: target.relations, many: target.many, columns: [] };
          lists.set(at, known);
          known.columns.push(givenList(target.many, target.picks?.[0] ?? "", path, input));
        });
      else if (target.kind === "rows")
        collect(wrong, () => {
          givens.push(givenRows(target.relations, target.many, path, input));
        });
      else if (target.kind === "group")
        collect(wrong, () => {
          for (const [feature, at, value] of givenWindows(target.features, path, input))
            givens.push({ relations: target.relations, feature, value: givenValue(feature, at, value) });
        });
      else
        collect(wrong, () => {
          givens.push({ relations: target.relations, feature: target.feature, value: givenValue(target.feature, path, input) });
        });
    }
    for (const [at, { relations, many, columns }] of lists)
      collect(wrong, () => {
        const given = { columns: columns.map((column) => ownColumn(column.feature)), rows: [] };
        givens.push({ relations, feature: many.given, given, value: zipped(at, columns) });
      });
    const root = resolved.shape.root.name;
    const seen = new Set<string>();
    for (const given of givens) {
      const path = pathOf(root, given);
      if (seen.has(path)) wrong.add(() => refusal(ErrorCode.INVALID_QUERY, `${path.replace(/=$/, "")} is given twice`, path));
      seen.add(path);
      const gone = rows.find((row) => row.absent && path.startsWith(`${pathOf(root, row)}.`));
      if (gone)
        wrong.add(() => refusal(ErrorCode.INVALID_QUERY, `${path} is given, and so is that there is no ${pathOf(root, gone)}`, path));
    }
    wrong.check();
    const shape: PlanShape = { ...resolved.shape, givens, rows };
    const marks = rows.map((row) => `${pathOf(root, row)}${row.absent ? "!" : "="}`);
    const columns = givens.flatMap(({ given }) => (given ? [givenKey(given)] : []));
    const key = `${requestKey}\u0003${[...seen].join("\u0001")}\u0003${marks.join("\u0001")}\u0003${columns.join("\u0001")}`;
    let plan = this.#plans.get(key);
    const planned = plan === undefined;
    if (!plan) {
      plan = planQuery(this.index, shape);
      this.#plans.set(key, plan);
    }
    return {
      plan,
      values: givens.map((given) => given.value),
      tags: shape.tags,
      inferred: resolved.inferred,
      named: resolved.named,
      planned,
    };
  }
}

/** The features and rows that child rows are given with, as text. */
function givenKey({ columns, rows }: GivenChildren): string {
  const paths = rows.map(({ relations, absent }) => `${relations.map(({ name }) => name).join(".")}${absent ? "!" : "="}`);
  return [...columns.map(({ key }) => key.name), ...paths].join("\u0002");
}

/** Rows of a has-many relation as given. Throws BadGiven. */
function givenRows(
  relations: readonly RelationInfo[],
  many: ManyInfo,
  path: string,
  input: RequestInput,
): PathFeature & { readonly value: FeatureValue } {
  const { given, rows } = givenChildren(path, many, input);
  return { relations, feature: many.given, given, value: rows as FeatureValue };
}

function checkNames({ inputs, outputs, staleness, plannerOptions, tags }: QueryRequest): void {
  let names = inputs.length + outputs.length + tags.length;
  for (const _ in staleness) names++;
  for (const _ in plannerOptions) names++;
  if (names > MAX_NAMES) throw new QueryRefused([tooManyNames(names)]);
}

/** The error of a query with too many names. */
export function tooManyNames(names: number): Refusal {
  const [given, most] = [names, MAX_NAMES].map((count) => count.toLocaleString("en"));
  return refusal(ErrorCode.INVALID_QUERY, `the query has ${given} inputs, outputs and options in all, and may have ${most}`);
}

/** Everything of a request that names and plans depend on, as one string. */
function keyOf(request: QueryRequest): string {
  let key = "";
  for (const { name } of request.inputs) key += `${name.length}:${name}`;
  key += "|";
  for (const name of request.outputs) key += `${name.length}:${name}`;
  key += "|";
  for (const tag of request.tags) key += `${tag.length}:${tag}`;
  key += "|";
  for (const name in request.staleness) key += `${name.length}:${name}=${request.staleness[name]},`;
  if (request.queryName !== "") key += `|${request.queryName.length}:${request.queryName}@${request.queryNameVersion}`;
  for (const name in request.plannerOptions)
    key += `|${name.length}:${name}=${request.plannerOptions[name]?.length}:${request.plannerOptions[name]}`;
  if (request.forcedResolver !== undefined) key += `|${request.forcedResolver}`;
  return key;
}

/** The facts of a request that `keyOf` writes down. */
interface Names extends Pick<QueryRequest, "outputs" | "tags" | "staleness" | "queryName" | "queryNameVersion" | "plannerOptions"> {
  readonly inputs: readonly string[];
}

/**
 * Whether a query has the given names: a cheaper test than by its key. False for one with options,
 * which the test does not cover.
 */
function hasNames(request: QueryRequest, names: Names): boolean {
  if (request.forcedResolver !== undefined || request.queryName !== names.queryName || request.queryNameVersion !== names.queryNameVersion)
    return false;
  if (request.inputs.length !== names.inputs.length) return false;
  for (let i = 0; i < names.inputs.length; i++) if (request.inputs[i]?.name !== names.inputs[i]) return false;
  return areSame(request.outputs, names.outputs) && areSame(request.tags, names.tags) && !hasOptions(request) && !hasOptions(names);
}

function areSame(a: readonly string[], b: readonly string[]): boolean {
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false;
  return true;
}

function hasOptions({ staleness, plannerOptions }: Pick<QueryRequest, "staleness" | "plannerOptions">): boolean {
  for (const _ in staleness) return true;
  for (const _ in plannerOptions) return true;
  return false;
}

function add(group: RowGroup, row: number, values: readonly FeatureValue[]): void {
  group.rows.push(row);
  for (let i = 0; i < values.length; i++) group.columns[i]?.push(values[i] as FeatureValue);
}

function expandRow(
  namespace: NamespaceInfo,
  relations: readonly RelationInfo[],
  path: string,
  input: RequestInput,
  givens: (PathFeature & { readonly value: FeatureValue })[],
  rows: GivenRow[],
  wrong: Refusals,
): void {
  collect(wrong, () => {
    const fields = givenRow(path, namespace.className, input);
    if (fields === null && !relations.at(-1)?.optional)
      throw new BadGiven(path, `${path}: expected a row of ${namespace.className}, got null, and the relation is not optional`);
    rows.push({ relations, absent: fields === null });
    for (const [name, value] of Object.entries(fields ?? {})) {
      const member = namespace.members.get(name);
      const at = `${path}.${name}`;
      const typed: RequestInput = { name: at, form: "typed", value };
      if (member === undefined) {
        wrong.add((guess) => {
          const near = guess() ? closestNames(name, namespace.members.keys()) : [];
          const hint = near.length > 0 ? `; did you mean ${near.map((one) => `'${path}.${one}'`).join(", ")}?` : "";
          return refusal(ErrorCode.PARSE_FAILED, `unknown feature '${at}' in the inputs${hint}`, at);
        });
      } else if (member.kind === "has_many") collect(wrong, () => givens.push(givenRows(relations, member, at, typed)));
      else if (member.kind === "has_one") expandRow(member.foreign, [...relations, member], at, typed, givens, rows, wrong);
      else collect(wrong, () => givens.push({ relations, feature: member, value: givenValue(member, at, typed) }));
    }
  });
}

function collect(wrong: Refusals, run: () => void): void {
  try {
    run();
  } catch (error) {
    addBadGiven(wrong, error);
  }
}

function addBadGiven(wrong: Refusals, error: unknown): void {
  if (!(error instanceof BadGiven)) throw error;
  wrong.add((guess) => refusal(error.breaksRule ? ErrorCode.VALIDATION_FAILED : ErrorCode.PARSE_FAILED, error.describe(guess), error.path));
}
