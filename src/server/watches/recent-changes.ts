/**
 * The changes of the platform as this node hears of them, numbered, for callers who follow some of
 * them. Of each topic of an environment the latest number is known and no more: whoever comes back
 * or is slow is told what has changed meanwhile, once.
 */

import type { Clock } from "../../context/clock.ts";
import type { Bus } from "../jobs/bus.ts";
import { type ChangeTopic, changeOf } from "../jobs/changes.ts";
import { createWakeablePause, type WakeablePause } from "../jobs/wakeable-pause.ts";

/** What a follower is told. */
export interface ToldChanges {
  readonly topics: readonly ChangeTopic[];
  /** Where the follower is, for the next `follow`. */
  readonly cursor: string;
  /** Whether it is unknown what changed since the cursor; all topics are told then. */
  readonly missed: boolean;
  /** Changes that came since the last message and of which another one is told. */
  readonly skipped: number;
}

/** What somebody follows. */
export interface Followed {
  readonly environmentId: string;
  readonly topics: ReadonlySet<ChangeTopic>;
  /** Cursor of before; empty = from now on, and what changed just before. */
  readonly cursor: string;
}

/** The changes as one node hears of them. */
export interface RecentChanges {
  /**
   * What changes, until the signal is aborted: at once where the follower is, then changes, and
   * nothing every 15 s. The next message is made when the one before was taken.
   */
  follow(followed: Followed, signal: AbortSignal): AsyncGenerator<ToldChanges>;
  /** Stops listening. */
  close(): void;
}

/** Milliseconds between messages without changes. */
const HEARTBEAT_MS = 15_000;
/** Milliseconds from a message to the next one: what changes meanwhile is told together. */
const PAUSE_MS = 100;
/** Milliseconds that are told of to who has no cursor. */
const JUST_BEFORE_MS = 10_000;
/** Topics of environments whose latest change is known. */
const MOST_KNOWN = 10_000;

interface Follower extends Omit<Followed, "cursor"> {
  /** Changes that were not told, by topic. */
  waiting: Map<ChangeTopic, number>;
  missed: boolean;
  readonly pause: WakeablePause;
}

/** Begins to listen to the bus. */
export function createRecentChanges({ bus, clock }: { readonly bus: Bus; readonly clock: Clock }): RecentChanges {
  /** Tells this node's numbers from those of others, and of its processes before. */
  const mark = crypto.randomUUID().slice(0, 8);
  /** The latest change of a topic of an environment, in the order of numbers. */
  const latest = new Map<string, { readonly number: number; readonly at: number }>();
  const followers = new Set<Follower>();
  let number = 0;
  /** Up to this number it is unknown what changed. */
  let forgotten = 0;

  const keyOf = (topic: ChangeTopic, environmentId: string): string => `${topic}/${environmentId}`;

  const hear = (id: string): void => {
    number++;
    const change = changeOf(id);
    if (change === undefined) {
      forgotten = number;
      latest.clear();
    } else {
      latest.delete(id);
      latest.set(id, { number, at: clock.now() });
      const [oldest] = latest;
      if (latest.size > MOST_KNOWN && oldest) {
        latest.delete(oldest[0]);
        forgotten = oldest[1].number;
      }
    }
    for (const follower of followers) {
      if (change === undefined) follower.missed = true;
      else if (follower.environmentId !== change.environmentId || !follower.topics.has(change.topic)) continue;
      else follower.waiting.set(change.topic, (follower.waiting.get(change.topic) ?? 0) + 1);
      follower.pause.wake();
    }
  };

  /** The number of a cursor; undefined = it is none of this node's, or too old. */
  const numberOf = (cursor: string): number | undefined => {
    const at = /^([0-9a-f]{8})\.(\d{1,15})$/.exec(cursor);
    const given = at?.[1] === mark ? Number(at[2]) : undefined;
    return given !== undefined && given >= forgotten && given <= number ? given : undefined;
  };

  const begin = ({ environmentId, topics, cursor }: Followed, signal: AbortSignal): Follower => {
    const after = cursor === "" ? undefined : numberOf(cursor);
    const since = clock.now() - JUST_BEFORE_MS;
    const waiting = new Map<ChangeTopic, number>();
    for (const topic of topics) {
      const known = latest.get(keyOf(topic, environmentId));
      if (known && (cursor === "" ? known.at >= since : known.number > (after ?? 0))) waiting.set(topic, 1);
    }
    const missed = cursor !== "" && after === undefined;
    return { environmentId, topics, waiting, missed, pause: createWakeablePause(clock, signal) };
  };

  const take = (follower: Follower): ToldChanges => {
    const { missed, topics, waiting } = follower;
    const told = [...(missed ? topics : waiting.keys())];
    const heard = [...waiting.values()].reduce((sum, count) => sum + count, 0);
    follower.waiting = new Map();
    follower.missed = false;
    follower.pause.clear();
    return { topics: told, cursor: `${mark}.${number}`, missed, skipped: heard - waiting.size };
  };

  const unsubscribe = bus.subscribe("changes", hear);
  return {
    async *follow(followed, signal) {
      const follower = begin(followed, signal);
      followers.add(follower);
      try {
        while (!signal.aborted) {
          yield take(follower);
          await clock.sleep(PAUSE_MS, signal).catch(() => undefined);
          await follower.pause.sleep(HEARTBEAT_MS);
        }
      } finally {
        followers.delete(follower);
      }
    },
    close: unsubscribe,
  };
}
