/** Which goals can be derived: the least set that holds what is given and every goal with a candidate whose needs are in the set. */

import type { Candidate, Goal } from "./goal-nodes.ts";

/** What counts as a provider. `weak` also takes values that may turn out to be in the online store. */
export type Strength = "strong" | "weak";

/**
 * Derives goals among `members`.
 * @param settled whether a goal is known to be derivable, asked for every goal, members or not
 * @param excluded goals that must not be used
 */
export function derive(
  members: Iterable<Goal>,
  strength: Strength,
  settled: (goal: Goal) => boolean,
  excluded?: ReadonlySet<Goal>,
): Set<Goal> {
  const inside = new Set<Goal>();
  for (const goal of members) if (!excluded?.has(goal) && !settled(goal)) inside.add(goal);
  const derived = new Set<Goal>();
  const waiting = new Map<Goal, { goal: Goal; missing: { count: number } }[]>();
  const ready: Goal[] = [];
  for (const goal of inside) {
    for (const candidate of goal.candidates) {
      if (!counts(candidate, strength)) continue;
      const open = candidate.required.filter((needed) => excluded?.has(needed) || !settled(needed));
      if (open.some((needed) => !inside.has(needed))) continue;
      if (open.length === 0) {
        ready.push(goal);
        break;
      }
      const missing = { count: new Set(open).size };
      for (const needed of new Set(open)) {
        const list = waiting.get(needed);
        if (list) list.push({ goal, missing });
        else waiting.set(needed, [{ goal, missing }]);
      }
    }
  }
  for (let goal = ready.pop(); goal; goal = ready.pop()) {
    if (derived.has(goal)) continue;
    derived.add(goal);
    for (const waiter of waiting.get(goal) ?? []) if (--waiter.missing.count === 0) ready.push(waiter.goal);
  }
  return derived;
}

function counts(candidate: Candidate, strength: Strength): boolean {
  return candidate.kind !== "stored" || strength === "weak";
}

/** Everything that a goal could wait for. */
function edgesOf(goal: Goal): Goal[] {
  const edges = new Set<Goal>(goal.frame.gates);
  for (const candidate of goal.candidates) {
    for (const needed of candidate.required) edges.add(needed);
    for (const input of candidate.call?.inputs ?? []) if (input.goal) edges.add(input.goal);
  }
  if (goal.key) edges.add(goal.key);
  return [...edges];
}

/** The knots of goals that could wait for each other in a circle, by goal; goals in no circle are left out. */
export function findKnots(goals: readonly Goal[]): Map<Goal, ReadonlySet<Goal>> {
  const order = new Map<Goal, number>();
  const low = new Map<Goal, number>();
  const open: Goal[] = [];
  const isOpen = new Set<Goal>();
  const knots = new Map<Goal, ReadonlySet<Goal>>();
  for (const start of goals) {
    if (order.has(start)) continue;
    const path: { goal: Goal; edges: Goal[]; next: number }[] = [];
    const enter = (goal: Goal) => {
      order.set(goal, order.size);
      low.set(goal, order.get(goal) as number);
      open.push(goal);
      isOpen.add(goal);
      path.push({ goal, edges: edgesOf(goal), next: 0 });
    };
    enter(start);
    for (let at = path.at(-1); at; at = path.at(-1)) {
      const edge = at.edges[at.next++];
      if (edge) {
        if (!order.has(edge)) enter(edge);
        else if (isOpen.has(edge)) low.set(at.goal, Math.min(low.get(at.goal) as number, order.get(edge) as number));
        continue;
      }
      path.pop();
      const above = path.at(-1);
      if (above) low.set(above.goal, Math.min(low.get(above.goal) as number, low.get(at.goal) as number));
      if (low.get(at.goal) !== order.get(at.goal)) continue;
      const knot = new Set<Goal>();
      let member: Goal | undefined;
      do {
        member = open.pop() as Goal;
        isOpen.delete(member);
        knot.add(member);
      } while (member !== at.goal);
      if (knot.size > 1 || at.edges.includes(at.goal)) for (const goal of knot) knots.set(goal, knot);
    }
  }
  return knots;
}
