/**
 * Conversion of the planner's decisions to a plan: numbers in place of goals, and only goals that
 * the outputs can reach.
 */

import { create } from "@bufbuild/protobuf";
import { DataTypeSchema } from "../../../../gen/svc/v1/value_pb.ts";
import { typeName } from "../../../domain/value.ts";
import { AnswerType } from "../graph/answer-type.ts";
import type { ScalarInfo } from "../graph/index-types.ts";
import { pathOf } from "../graph/parameter-index.ts";
import { outputPath } from "../request/resolve.ts";
import { mergeNeeds, planChildren } from "./child-plan.ts";
import { type BuiltCall, type CallNode, callsOf, type Decision, type FrameNode, type Goal } from "./goal-nodes.ts";
import type { GoalGraph } from "./goals.ts";
import type { FrameId, OpId, SlotId } from "./ids.ts";
import { gathersRows } from "./partitioned-ops.ts";
import {
  type OutputFeature,
  Plan,
  type PlanFrame,
  type PlanInput,
  type PlanOp,
  type PlanOutput,
  type PlanRows,
  type PlanShape,
  type PlanSlot,
  type RowsNeeds,
} from "./plan.ts";
import { rowSources } from "./row-sources.ts";

/** The result of the search. */
export interface SearchResult {
  readonly graph: GoalGraph;
  readonly shape: PlanShape;
  readonly outputs: readonly Goal[];
  /** Outputs without a provider, and why. */
  readonly unprovided: ReadonlyMap<Goal, string>;
  readonly decisions: ReadonlyMap<Goal, Decision>;
  readonly calls: ReadonlyMap<string, BuiltCall>;
  /** Plans the shape of child rows. */
  readonly plan: (shape: PlanShape) => Plan;
}

/** The decision about a given value that no output needs. */
const UNUSED: Omit<Decision, "goal"> = { conditional: [], call: undefined, readStore: false, notes: [] };

/** The plan of what the search decided. */
export function emitPlan(result: SearchResult): Plan {
  return new Emission(result).plan();
}

/** Numbers goals as slots, rows as frames and calls as ops. */
class Emission {
  readonly #goals: readonly Goal[];
  readonly #slotOf: ReadonlyMap<Goal, SlotId>;
  readonly #nodes: readonly FrameNode[];
  readonly #frameOf: ReadonlyMap<FrameNode, FrameId>;
  /** The calls that decide whether the row of a frame exists. */
  readonly #sources: ReadonlyMap<FrameNode, readonly CallNode[]>;
  readonly #ops: PlanOp[] = [];
  readonly #opOf = new Map<string, OpId>();
  /** The slots that each op provides. */
  readonly #provided: SlotId[][] = [];

  constructor(readonly result: SearchResult) {
    this.#goals = reachable(result);
    this.#slotOf = new Map(this.#goals.map((goal, slot) => [goal, slot as SlotId]));
    this.#nodes = [...new Set([result.graph.root, ...this.#goals.map((goal) => goal.frame)])];
    this.#frameOf = new Map(this.#nodes.map((node, frame) => [node, frame as FrameId]));
    this.#sources = new Map(this.#nodes.map((node) => [node, rowSources(result.graph, node)]));
  }

  plan(): Plan {
    const { shape, graph } = this.result;
    this.#emitProviders();
    const frames = this.#frames();
    const slots = this.#slots(frames);
    const given = this.#goals.filter((goal) => goal.given >= 0).sort((a, b) => a.given - b.given);
    return new Plan({
      hash: shapeHash(shape, graph.index.environmentName),
      options: shape.options,
      frames,
      slots,
      ops: this.#ops,
      outputs: this.result.outputs.map((goal, position) => this.#output(goal, shape.outputs[position] as OutputFeature, slots)),
      givenSlots: given.map((goal) => this.#slotOf.get(goal) as SlotId),
      storedSlots: slots.filter((slot) => slot.stored && !slot.feature.rowsOf).map((slot) => slot.id),
    });
  }

  /** The ops that provide goals. */
  #emitProviders(): void {
    const { graph, shape, decisions, calls, plan } = this.result;
    const needs = rowsNeeds(this.result, this.#goals);
    for (const goal of this.#goals) {
      for (const call of callsOf(decisions.get(goal) ?? UNUSED)) {
        let op = this.#opOf.get(call.key);
        if (op === undefined) {
          const many = goal.feature.rowsOf;
          const planned =
            many && call.source ? planChildren(graph.index, many, call.source, mergeNeeds(needs.get(goal) ?? []), shape, plan) : undefined;
          const rows = planned && { ...planned, edgesOf: goal.feature.edgesOf };
          op = this.#emit(call, (calls.get(call.key) as BuiltCall).inputs, rows);
        }
        (this.#provided[op] as SlotId[]).push(this.#slotOf.get(goal) as SlotId);
      }
    }
  }

  #emit(call: CallNode, goals: BuiltCall["inputs"], rows?: PlanRows): OpId {
    const id = this.#ops.length as OpId;
    const [source, ...others] = this.#sources.get(call.frame) ?? [];
    const outputs: SlotId[] = [];
    const inputs = call.inputs.map(({ parameter, nullable }, position): PlanInput => {
      const goal = goals[position];
      const needs = call.needs?.find((one) => one.goal === goal)?.needs;
      return { parameter, slot: goal && this.#slotOf.get(goal), nullable, needs };
    });
    this.#opOf.set(call.key, id);
    this.#provided.push(outputs);
    this.#ops.push({
      id,
      kind: call.kind,
      frame: this.#frameOf.get(call.frame) as FrameId,
      resolver: call.resolver,
      inputs,
      inputSlots: [...new Set(inputs.flatMap((input) => input.slot ?? []))],
      outputs,
      keys: call.keys,
      expression: call.expression,
      gathers: gathersRows({ resolver: call.resolver, rows }),
      isRowSource: source === call && others.length === 0,
      rows,
    });
    return id;
  }

  /** The frames, with the ops that decide whether their rows exist where a slot depends on it. */
  #frames(): PlanFrame[] {
    const looked = new Set(this.#goals.filter((goal) => this.#needsRow(goal)).map((goal) => goal.frame));
    return this.#nodes.map((node, id) => {
      const calls = looked.has(node) ? (this.#sources.get(node) ?? []) : [];
      const called = calls.filter((call) => this.#opOf.has(call.key));
      const rowOps = [...new Set([...called, ...calls])].map((call) => this.#opOf.get(call.key) ?? this.#emit(call, goalsOf(call)));
      return emitFrame(id as FrameId, node, this.#slotOf, rowOps);
    });
  }

  /** Whether a goal could have a value although its row does not exist. */
  #needsRow(goal: Goal): boolean {
    const sources = this.#sources.get(goal.frame) ?? [];
    const { conditional, call } = this.result.decisions.get(goal) ?? UNUSED;
    return sources.length > 0 && goal.given < 0 && (conditional.length > 0 || !(call && sources.includes(call)));
  }

  #slots(frames: readonly PlanFrame[]): PlanSlot[] {
    const takers = this.#goals.map((): OpId[] => []);
    for (const op of this.#ops) for (const slot of op.inputSlots) takers[slot]?.push(op.id);
    const gates = this.#goals.map((): FrameId[] => []);
    for (const frame of frames) for (const slot of frame.gateSlots) gates[slot]?.push(frame.id);
    return this.#goals.map((goal, position): PlanSlot => {
      const id = position as SlotId;
      const decision = this.result.decisions.get(goal) ?? UNUSED;
      const frame = this.#frameOf.get(goal.frame) as FrameId;
      const keySlot = frames[frame]?.keySlot;
      return {
        id,
        frame,
        feature: goal.feature,
        path: goal.path,
        given: goal.given,
        choices: decision.conditional.map((call) => ({
          condition: this.#slotOf.get(call.condition as Goal) as SlotId,
          op: this.#opOf.get(call.key) as OpId,
        })),
        op: decision.call && this.#opOf.get(decision.call.key),
        isCondition: goal.feature.conditionOf !== undefined,
        leavesOut: this.#leavesOut(goal, decision),
        readMs: decision.readStore && keySlot !== undefined ? goal.staleMs : 0,
        stored: keySlot !== undefined && isStored(this.result.shape, goal, decision.call),
        takers: takers[id] as OpId[],
        gates: gates[id] as FrameId[],
        isKey: keySlot === id,
        needsRow: this.#needsRow(goal),
        notes: decision.notes,
      };
    });
  }

  /** Whether rows for which the forced resolver's condition is not true are left out. */
  #leavesOut({ frame }: Goal, { conditional }: Pick<Decision, "conditional">): boolean {
    const { graph, shape } = this.result;
    return frame === graph.root && conditional.some(({ resolver }) => resolver?.fqn === shape.forcedResolver);
  }

  #output(goal: Goal, wanted: OutputFeature, slots: readonly PlanSlot[]): PlanOutput {
    const path = outputPath(this.result.shape.root.name, wanted);
    const reason = this.result.unprovided.get(goal);
    if (reason !== undefined) return { path, feature: goal.feature, slot: undefined, reason };
    const slot = this.#slotOf.get(goal) as SlotId;
    if (!goal.feature.rowsOf) return { path, feature: goal.feature, slot };
    const { rows } = this.#ops[slots[slot]?.op ?? -1] ?? {};
    return { path, feature: rowsFeature(goal.feature, rows, wanted.pick), slot, pick: wanted.pick };
  }
}

function goalsOf({ inputs }: CallNode): BuiltCall["inputs"] {
  return inputs.map((input) => input.goal);
}

/** Whether fresh values of a goal go to the online store where its row's key is known. */
function isStored({ options, staleness }: PlanShape, { feature }: Goal, call: CallNode | undefined): boolean {
  if (options.disableCacheWrites || feature.featureId === undefined || !feature.storesOnline || feature.primary) return false;
  if (call?.source?.kind === "given") return false;
  return feature.stalenessMs > 0 || (staleness.get(feature.fqn) ?? 0) > 0;
}

/**
 * The needs of child rows: the features of has-many relations' rows that outputs and calls of a
 * plan read.
 */
function rowsNeeds({ shape, outputs, decisions, calls }: SearchResult, goals: readonly Goal[]): Map<Goal, RowsNeeds[]> {
  const found = new Map<Goal, RowsNeeds[]>();
  const add = (goal: Goal, needs: RowsNeeds) => {
    const known = found.get(goal);
    if (known) known.push(needs);
    else found.set(goal, [needs]);
  };
  for (const [position, goal] of outputs.entries()) {
    const needs = shape.outputs[position]?.needs;
    if (needs) add(goal, needs);
  }
  for (const key of new Set(goals.flatMap((goal) => callsOf(decisions.get(goal) ?? UNUSED).map((call) => call.key))))
    for (const { goal, needs } of calls.get(key)?.call.needs ?? []) add(goal, needs);
  return found;
}

/**
 * The feature of an output of child rows: a list of values, or of objects with the available
 * features.
 */
function rowsFeature(feature: ScalarInfo, rows: PlanRows | undefined, pick: string | undefined): ScalarInfo {
  if (!rows) return feature;
  const outputAt = (position: number | undefined) => rows.child.outputs[position ?? -1];
  const element =
    pick === undefined
      ? create(DataTypeSchema, {
          kind: {
            case: "struct",
            value: {
              name: rows.many.foreign.className,
              fields: rows.whole.flatMap((position) => {
                const one = outputAt(position)?.feature;
                return one ? [{ name: one.name, dtype: one.dtype, nullable: one.nullable }] : [];
              }),
            },
          },
        })
      : outputAt(rows.columns.get(pick))?.feature.dtype;
  const dtype = create(DataTypeSchema, { kind: { case: "list", value: element ? { element } : {} } });
  return { ...feature, dtype, answerType: new AnswerType(dtype), typeName: typeName(dtype) };
}

/** Every goal that is given or that an output can come to need, in a stable order. */
function reachable({ graph, outputs, decisions, calls }: SearchResult): Goal[] {
  const found = new Set<Goal>(graph.goals.filter((goal) => goal.given >= 0));
  for (const goal of outputs) if (decisions.has(goal)) found.add(goal);
  for (const goal of found) {
    const decision = decisions.get(goal);
    if (!decision) continue;
    for (const gate of goal.frame.gates) found.add(gate);
    for (const call of callsOf(decision)) {
      if (call.condition) found.add(call.condition);
      for (const input of calls.get(call.key)?.inputs ?? []) if (input) found.add(input);
    }
    if (decision.readStore && goal.key) found.add(goal.key);
  }
  return [...found].filter((goal) => decisions.has(goal) || goal.given >= 0);
}

function emitFrame(id: FrameId, node: FrameNode, slotOf: ReadonlyMap<Goal, SlotId>, rowOps: readonly OpId[]): PlanFrame {
  const primary = node.namespace.primaryKey;
  const near = node.mode === "join" ? node.relation?.join.find((pair) => pair.foreign === primary)?.local : undefined;
  const primaryGoal = near ? node.parent?.goals.get(near) : primary && node.goals.get(primary);
  const primarySlot = primaryGoal && slotOf.get(primaryGoal);
  const known = node.mode !== "root" || (primaryGoal?.given ?? -1) >= 0;
  return {
    id,
    path: node.path,
    namespace: node.namespace,
    relation: node.relation,
    mode: node.mode,
    optional: node.optional,
    gateSlots: [...new Set(node.gates.flatMap((gate) => slotOf.get(gate) ?? []))],
    keySlot: known ? primarySlot : undefined,
    primarySlot,
    rowOps,
  };
}

function shapeHash(shape: PlanShape, environment: string): string {
  const root = shape.root.name;
  const text = JSON.stringify([
    environment,
    root,
    shape.givens.map((given) => [pathOf(root, given), given.given?.columns.map((column) => column.key.name) ?? []]).sort(),
    shape.rows.map((row) => [pathOf(root, row), row.absent]).sort(),
    shape.outputs.map((output) => [outputPath(root, output), output.named]).sort(),
    [...shape.tags].sort(),
    [...shape.staleness].sort((a, b) => (a[0] < b[0] ? -1 : 1)).map(([fqn, ms]) => [fqn, String(ms)]),
    Object.entries(shape.options),
    ...(shape.forcedResolver === undefined ? [] : [shape.forcedResolver]),
  ]);
  return Bun.hash(text).toString(16).padStart(16, "0");
}
