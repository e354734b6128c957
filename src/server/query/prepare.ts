/** From a query as written to a plan and the values that it runs on. Everything but the values is remembered by the request's shape. */

import { ErrorCode } from "../../../gen/svc/v1/error_pb.ts";
import { closestNames } from "../../domain/closest.ts";
import type { FeatureValue } from "../../domain/value.ts";
import { BadGiven, givenRow, givenValue } from "./given.ts";
import { type GraphIndex, pathOf } from "./graph-index.ts";
import type { NamespaceInfo, RelationInfo } from "./index-types.ts";
import { LruMap } from "./lru.ts";
import type { GivenRow, PathFeature, Plan, PlanShape } from "./plan.ts";
import { planQuery } from "./planner.ts";
import { QueryRefused, type Refusal, refusal } from "./refusal.ts";
import type { Ask, AskInput } from "./request.ts";
import { type ResolvedInput, type ResolvedRequest, resolveRequest } from "./resolve.ts";

/** Plans and resolved names that are kept per deployment. */
const REMEMBERED = 1_000;

/** A query ready to run. */
export interface Prepared {
  readonly plan: Plan;
  /** The given values in the order of `plan.givenSlots`. */
  readonly values: readonly FeatureValue[];
  /** Tags of the request and of its named query. */
  readonly tags: readonly string[];
  /** Outputs that were inferred because none were given. */
  readonly inferred: readonly string[];
  /** Whether the plan was made now and not remembered. */
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

  constructor(readonly index: GraphIndex) {}

  /** Resolves names, converts values and plans. Throws QueryRefused with everything that is wrong. */
  prepare(ask: Ask): Prepared {
    const key = keyOf(ask);
    let remembered = this.#requests.get(key);
    if (!remembered) {
      remembered = { resolved: resolveRequest(this.index, ask), plan: undefined };
      this.#requests.set(key, remembered);
    }
    const { shape, inferred, inputs, hasRows } = remembered.resolved;
    if (hasRows) return this.#prepareRows(ask, key, remembered.resolved);
    const values: FeatureValue[] = new Array(ask.inputs.length);
    const wrong: Refusal[] = [];
    for (let i = 0; i < values.length; i++) {
      const { target, path } = inputs[i] as ResolvedInput;
      try {
        if (target.kind === "feature") values[i] = givenValue(target.feature, path, ask.inputs[i] as AskInput);
      } catch (error) {
        wrong.push(badGiven(error));
      }
    }
    if (wrong.length > 0) throw new QueryRefused(wrong);
    const planned = remembered.plan === undefined;
    remembered.plan ??= planQuery(this.index, shape);
    return { plan: remembered.plan, values, tags: shape.tags, inferred, planned };
  }

  /** Rows given whole become features given by path, so that the shape is known only now. */
  #prepareRows(ask: Ask, requestKey: string, resolved: ResolvedRequest): Prepared {
    const givens: (PathFeature & { readonly value: FeatureValue })[] = [];
    const rows: GivenRow[] = [];
    const wrong: Refusal[] = [];
    for (const [position, { target, path }] of resolved.inputs.entries()) {
      const input = ask.inputs[position] as AskInput;
      if (target.kind === "row") expandRow(target.namespace, target.relations, path, input, givens, rows, wrong);
      else
        collect(wrong, () => {
          givens.push({ relations: target.relations, feature: target.feature, value: givenValue(target.feature, path, input) });
        });
    }
    const root = resolved.shape.root.name;
    const seen = new Set<string>();
    for (const given of givens) {
      const path = pathOf(root, given);
      if (seen.has(path)) wrong.push(refusal(ErrorCode.INVALID_QUERY, `${path} is given twice`, path));
      seen.add(path);
      const gone = rows.find((row) => row.absent && path.startsWith(`${pathOf(root, row)}.`));
      if (gone) wrong.push(refusal(ErrorCode.INVALID_QUERY, `${path} is given, and so is that there is no ${pathOf(root, gone)}`, path));
    }
    if (wrong.length > 0) throw new QueryRefused(wrong);
    const shape: PlanShape = { ...resolved.shape, givens, rows };
    const marks = rows.map((row) => `${pathOf(root, row)}${row.absent ? "!" : "="}`);
    const key = `${requestKey}\u0003${[...seen].join("\u0001")}\u0003${marks.join("\u0001")}`;
    let plan = this.#plans.get(key);
    const planned = plan === undefined;
    if (!plan) {
      plan = planQuery(this.index, shape);
      this.#plans.set(key, plan);
    }
    return { plan, values: givens.map((given) => given.value), tags: shape.tags, inferred: resolved.inferred, planned };
  }
}

/** Everything of a request that names and plans depend on, as one string. */
function keyOf(ask: Ask): string {
  let key = "";
  for (const { name } of ask.inputs) key += `${name.length}:${name}`;
  key += "|";
  for (const name of ask.outputs) key += `${name.length}:${name}`;
  key += "|";
  for (const tag of ask.tags) key += `${tag.length}:${tag}`;
  key += "|";
  for (const name in ask.staleness) key += `${name.length}:${name}=${ask.staleness[name]},`;
  if (ask.queryName !== "") key += `|${ask.queryName.length}:${ask.queryName}@${ask.queryNameVersion}`;
  for (const name in ask.plannerOptions) key += `|${name.length}:${name}=${ask.plannerOptions[name]?.length}:${ask.plannerOptions[name]}`;
  return key;
}

function expandRow(
  namespace: NamespaceInfo,
  relations: readonly RelationInfo[],
  path: string,
  input: AskInput,
  givens: (PathFeature & { readonly value: FeatureValue })[],
  rows: GivenRow[],
  wrong: Refusal[],
): void {
  collect(wrong, () => {
    const fields = givenRow(path, namespace.className, input);
    if (fields === null && !relations.at(-1)?.optional)
      throw new BadGiven(path, `${path}: expected a row of ${namespace.className}, got null, and the relation is not optional`);
    rows.push({ relations, absent: fields === null });
    for (const [name, value] of Object.entries(fields ?? {})) {
      const member = namespace.members.get(name);
      const at = `${path}.${name}`;
      const typed: AskInput = { name: at, form: "typed", value };
      if (member === undefined) {
        const near = closestNames(name, namespace.members.keys());
        const hint = near.length > 0 ? `; did you mean ${near.map((one) => `'${path}.${one}'`).join(", ")}?` : "";
        wrong.push(refusal(ErrorCode.PARSE_FAILED, `unknown feature '${at}' in the inputs${hint}`, at));
      } else if (member === "has_many")
        wrong.push(refusal(ErrorCode.PARSE_FAILED, `'${at}' is has-many, which online queries cannot take yet`, at));
      else if (member.kind === "has_one") expandRow(member.foreign, [...relations, member], at, typed, givens, rows, wrong);
      else collect(wrong, () => givens.push({ relations, feature: member, value: givenValue(member, at, typed) }));
    }
  });
}

function collect(wrong: Refusal[], run: () => void): void {
  try {
    run();
  } catch (error) {
    wrong.push(badGiven(error));
  }
}

function badGiven(error: unknown): Refusal {
  if (error instanceof BadGiven) return refusal(ErrorCode.PARSE_FAILED, error.message, error.path);
  throw error;
}
