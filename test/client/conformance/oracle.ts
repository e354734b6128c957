/** What the project's features come to, written once more and plainly, for the expected answers. */

import { float, int, struct, time, type Value } from "./values.ts";

/** An order of a user. */
export interface Order {
  readonly id: number;
  readonly userId: number;
  readonly amount: number;
  readonly kind: "s" | "l";
  /** Epoch milliseconds. */
  readonly placedAt: number;
}

const DAY_MS = 86_400_000;
const FIRST = Date.UTC(2024, 0, 1);

export const nameOf = (id: number): string => `user-${id}`;
export const scoreOf = (id: number): number => id / 2;

/** The five orders of a user, one a day. */
export function ordersOf(id: number): Order[] {
  const orders: Order[] = [];
  for (let n = 0; n < 5; n++)
    orders.push({ id: id * 10 + n, userId: id, amount: n + id / 4, kind: n % 2 === 0 ? "s" : "l", placedAt: FIRST + n * DAY_MS });
  return orders;
}

export const spentIn = (orders: readonly Order[]): number => orders.reduce((sum, { amount }) => sum + amount, 0);
export const largeIn = (orders: readonly Order[]): number => orders.filter(({ kind }) => kind === "l").length;

/** The amounts of the days before a time, without the moment at which they began. */
export function recentIn(orders: readonly Order[], now: number, days: number): number {
  return spentIn(orders.filter(({ placedAt }) => placedAt > now - days * DAY_MS && placedAt <= now));
}

/** An order as a value. */
export function orderValue({ amount, id, kind, placedAt, userId }: Order): Value {
  const at = new Date(placedAt).toISOString().replace("Z", "000Z");
  return struct({ id: int(id), user_id: int(userId), amount: float(amount), kind, placed_at: time(at) });
}

/** Number of code points. */
export const lengthOf = (text: string): number => [...text].length;
