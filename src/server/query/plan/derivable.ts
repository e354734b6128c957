/**
 * The goals that can be derived: the least set that contains what is given and every goal with a
 * candidate whose needs are in the set.
 */

import type { Candidate, Goal } from "./goal-nodes.ts";

/**
 * The kinds of provider that count. `weak` also takes values that may turn out to be in the online
 * store.
 */
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
export function waitsFor(goal: Goal): Goal[] {
  const edges = new Set<Goal>(goal.frame.gates);
  for (const candidate of goal.candidates) {
    for (const needed of candidate.required) edges.add(needed);
    for (const input of candidate.call?.inputs ?? []) if (input.goal) edges.add(input.goal);
  }
  if (goal.key) edges.add(goal.key);
  return [...edges];
}
