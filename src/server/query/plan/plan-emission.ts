/** From the planner's decisions to a plan: numbers in place of goals, and only what the outputs can reach. */

import { create } from "@bufbuild/protobuf";
import { DataTypeSchema } from "../../../../gen/svc/v1/value_pb.ts";
import { typeName } from "../../../domain/value.ts";
import { AnswerType } from "../graph/answer-type.ts";
import type { ScalarInfo } from "../graph/index-types.ts";
import { pathOf } from "../graph/parameter-index.ts";
import { outputPath } from "../request/resolve.ts";
import { mergeNeeds, planChildren } from "./child-plan.ts";
import type { CallNode, FrameNode, Goal } from "./goal-nodes.ts";
import type { GoalGraph } from "./goals.ts";
import type { FrameId, OpId, SlotId } from "./ids.ts";
import {
  type OutputFeature,
  Plan,
  type PlanFrame,
  type PlanOp,
  type PlanOutput,
  type PlanRows,
  type PlanShape,
  type PlanSlot,
  type RowsNeeds,
} from "./plan.ts";
import type { BuiltCall, Decision } from "./planner.ts";
import { rowSources } from "./row-sources.ts";

/** What the search found. */
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

/** What holds for a given value that no output needs. */
const UNUSED: Pick<Decision, "call" | "readStore" | "notes"> = { call: undefined, readStore: false, notes: [] };

/** Makes the plan. */
export function emitPlan(result: SearchResult): Plan {
  const { graph, shape, decisions } = result;
  const goals = reachable(result);
  const slotOf = new Map(goals.map((goal, slot) => [goal, slot as SlotId]));
  const frameNodes = [...new Set([graph.root, ...goals.map((goal) => goal.frame)])];
  const frameOf = new Map(frameNodes.map((node, frame) => [node, frame as FrameId]));
  const ops: PlanOp[] = [];
  const opOf = new Map<string, OpId>();
  const opOutputs: SlotId[][] = [];
  const needs = rowsNeeds(result, goals);
  const sources = new Map(frameNodes.map((node) => [node, rowSources(graph, node)]));
  const emit = (call: CallNode, inputs: BuiltCall["inputs"], rows: PlanRows | undefined): OpId => {
    const id = ops.length as OpId;
    const [source, ...others] = sources.get(call.frame) ?? [];
    const isRowSource = source === call && others.length === 0;
    opOf.set(call.key, id);
    opOutputs.push([]);
    ops.push({ ...emitOp(id, call, inputs, slotOf, frameOf, opOutputs[id] as SlotId[]), isRowSource, rows });
    return id;
  };
  for (const goal of goals) {
    const call = decisions.get(goal)?.call;
    if (!call) continue;
    let op = opOf.get(call.key);
    if (op === undefined) {
      const many = goal.feature.rowsOf;
      const rows =
        many && call.source
          ? planChildren(graph.index, many, call.source, mergeNeeds(needs.get(goal) ?? []), shape, result.plan)
          : undefined;
      op = emit(call, (result.calls.get(call.key) as BuiltCall).inputs, rows);
    }
    (opOutputs[op] as SlotId[]).push(slotOf.get(goal) as SlotId);
  }
  const needsRow = (goal: Goal): boolean => {
    const tell = sources.get(goal.frame) ?? [];
    const call = decisions.get(goal)?.call;
    return tell.length > 0 && goal.given < 0 && !(call && tell.includes(call));
  };
  const looked = new Set(goals.filter(needsRow).map((goal) => goal.frame));
  const frames = frameNodes.map((node, id) => {
    const calls = looked.has(node) ? (sources.get(node) ?? []) : [];
    const called = calls.filter((call) => opOf.has(call.key));
    const rowOps = [...new Set([...called, ...calls])].map(
      (call) =>
        opOf.get(call.key) ??
        emit(
          call,
          call.inputs.map((input) => input.goal),
          undefined,
        ),
    );
    return emitFrame(id as FrameId, node, slotOf, rowOps);
  });
  const takers: OpId[][] = goals.map(() => []);
  for (const op of ops) for (const slot of op.inputSlots) takers[slot]?.push(op.id);
  const gates: FrameId[][] = goals.map(() => []);
  for (const frame of frames) for (const slot of frame.gateSlots) gates[slot]?.push(frame.id);
  const slots = goals.map((goal, position): PlanSlot => {
    const id = position as SlotId;
    const decision = decisions.get(goal) ?? UNUSED;
    const frame = frameOf.get(goal.frame) as FrameId;
    const { featureId, stalenessMs } = goal.feature;
    const keySlot = (frames[frame] as PlanFrame).keySlot;
    return {
      id,
      frame,
      feature: goal.feature,
      path: goal.path,
      given: goal.given,
      op: decision.call && opOf.get(decision.call.key),
      readMs: decision.readStore && keySlot !== undefined ? goal.staleMs : 0,
      stored:
        !shape.options.disableCacheWrites &&
        featureId !== undefined &&
        goal.feature.storesOnline &&
        decision.call?.source?.kind !== "given" &&
        !goal.feature.primary &&
        keySlot !== undefined &&
        (stalenessMs > 0 || (shape.staleness.get(goal.feature.fqn) ?? 0) > 0),
      takers: takers[id] as OpId[],
      gates: gates[id] as FrameId[],
      isKey: keySlot === id,
      needsRow: needsRow(goal),
      notes: decision.notes,
    };
  });
  const outputs = result.outputs.map((goal, position): PlanOutput => {
    const reason = result.unprovided.get(goal);
    const wanted = shape.outputs[position] as OutputFeature;
    if (goal.feature.rowsOf && reason === undefined) {
      const slot = slotOf.get(goal) as SlotId;
      const rows = ops[(slots[slot] as PlanSlot).op ?? -1]?.rows;
      return { path: outputPath(shape.root.name, wanted), feature: rowsFeature(goal.feature, rows, wanted.pick), slot, pick: wanted.pick };
    }
    const base = { path: outputPath(shape.root.name, wanted), feature: goal.feature };
    return reason === undefined ? { ...base, slot: slotOf.get(goal) } : { ...base, slot: undefined, reason };
  });
  const givenSlots = goals.filter((goal) => goal.given >= 0).sort((a, b) => a.given - b.given);
  return new Plan({
    hash: shapeHash(shape, graph.index.environmentName),
    options: shape.options,
    frames,
    slots,
    ops,
    outputs,
    givenSlots: givenSlots.map((goal) => slotOf.get(goal) as SlotId),
    storedSlots: slots.filter((slot) => slot.stored && !slot.feature.rowsOf).map((slot) => slot.id),
  });
}

/** What is needed of the rows of has-many relations by outputs and by the calls of a plan. */
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
  for (const key of new Set(goals.flatMap((goal) => decisions.get(goal)?.call?.key ?? [])))
    for (const { goal, needs } of calls.get(key)?.call.needs ?? []) add(goal, needs);
  return found;
}

/** The feature of an output of child rows: a list of values, or of objects of what can be had. */
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
    if (decision.call) for (const input of calls.get(decision.call.key)?.inputs ?? []) if (input) found.add(input);
    if (decision.readStore && goal.key) found.add(goal.key);
  }
  return [...found].filter((goal) => decisions.has(goal) || goal.given >= 0);
}

function emitOp(
  id: OpId,
  call: CallNode,
  goals: BuiltCall["inputs"],
  slotOf: ReadonlyMap<Goal, SlotId>,
  frameOf: ReadonlyMap<FrameNode, FrameId>,
  outputs: readonly SlotId[],
): Omit<PlanOp, "isRowSource" | "rows"> {
  const inputs = call.inputs.map(({ parameter, nullable }, position) => {
    const goal = goals[position];
    const needs = call.needs?.find((one) => one.goal === goal)?.needs;
    return { parameter, slot: goal && slotOf.get(goal), nullable, needs };
  });
  return {
    id,
    kind: call.kind,
    frame: frameOf.get(call.frame) as FrameId,
    resolver: call.resolver,
    inputs,
    inputSlots: [...new Set(inputs.flatMap((input) => input.slot ?? []))],
    outputs,
    keys: call.keys,
    expression: call.expression,
  };
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
  ]);
  return Bun.hash(text).toString(16).padStart(16, "0");
}
