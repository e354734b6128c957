/**
 * What keeps pages at the present. The tab has one stream, as browsers keep six connections to a
 * host for all tabs: that of hints, by which pages read again what has changed, unless a page
 * follows a stream of its own. Without hints pages read again at longer intervals.
 */

import { useEffect, useRef } from "preact/hooks";
import type { WatchTopicJson } from "../../../gen/svc/v1/watch_pb.ts";
import type { CallError, CallScope } from "../api/call.ts";
import type { StreamMethod, StreamMethods } from "../api/methods.ts";
import { isLoggedIn } from "../api/session.ts";
import { keepOpen } from "./kept-stream.ts";
import { environmentScope } from "./who.ts";

type NameOf<Topic> = Topic extends `WATCH_TOPIC_${infer Name}` ? Lowercase<Name> : never;
/** What a page shows that changes. */
export type LiveTopic = Exclude<NameOf<WatchTopicJson>, "unspecified">;

/** Milliseconds between two looks without a hint: hints may be lost. */
const UNHINTED_MS = 30_000;
/** Milliseconds from a look to the next one, however fast hints come. */
const BETWEEN_LOOKS_MS = 1_000;
/** Milliseconds that topics are waited for: a page has others than the one before it. */
const SETTLE_MS = 50;

/** Somebody who looks again when one of the topics changes. */
interface Looker {
  readonly topics: readonly LiveTopic[];
  readonly look: () => void;
  lookedAt: number;
  isDue: boolean;
}

const lookers = new Set<Looker>();

/**
 * Calls `look` in the frame after a hint of a topic, and at longer intervals while the tab is in
 * sight; when the hints break off, too.
 */
export function useLive(topics: readonly LiveTopic[], look: () => void, isOn = true): void {
  const latest = useRef(look);
  latest.current = look;
  useEffect(() => {
    if (!isOn) return;
    const looker: Looker = { topics, look: () => latest.current(), lookedAt: Number.NEGATIVE_INFINITY, isDue: false };
    lookers.add(looker);
    settleSoon();
    const timer = setInterval(() => wake([looker]), UNHINTED_MS * (0.9 + Math.random() / 5));
    return () => {
      clearInterval(timer);
      lookers.delete(looker);
      settleSoon();
    };
  }, [topics.join(), isOn]);
}

let frame = 0;
let waiting = 0;

/** Has lookers look in the next frame, or once their pause is over. A hidden tab draws no frame. */
function wake(due: Iterable<Looker>): void {
  for (const looker of due) looker.isDue = true;
  if (frame === 0) frame = requestAnimationFrame(lookAll);
}

function lookAll(at: number): void {
  frame = 0;
  clearTimeout(waiting);
  let next = Number.POSITIVE_INFINITY;
  for (const looker of lookers) {
    if (!looker.isDue) continue;
    const left = looker.lookedAt + BETWEEN_LOOKS_MS - at;
    if (left > 0) {
      next = Math.min(next, left);
      continue;
    }
    looker.isDue = false;
    looker.lookedAt = at;
    looker.look();
  }
  if (next < Number.POSITIVE_INFINITY) waiting = window.setTimeout(() => wake([]), next);
}

/** The stream of hints. */
interface Hints {
  readonly environment: string;
  readonly topics: ReadonlySet<LiveTopic>;
  readonly close: () => void;
}

let hints: Hints | undefined;
/** Where the hints of an environment were. */
let place = { environment: "", cursor: "" };
/** Topics that the caller may not hear of. */
let refused: ReadonlySet<LiveTopic> = new Set();
/** Ends the stream of a page; undefined when no page has one. */
let endFollowed: (() => void) | undefined;
let settling = 0;

function settleSoon(): void {
  clearTimeout(settling);
  settling = window.setTimeout(settle, SETTLE_MS);
}

/** Opens the stream of hints that the page needs, and closes another one. */
function settle(): void {
  const { environment } = environmentScope.peek();
  const wanted = new Set([...lookers].flatMap(({ topics }) => topics).filter((topic) => !refused.has(topic)));
  if (endFollowed || wanted.size === 0 || !isLoggedIn.peek()) {
    closeHints();
    return;
  }
  if (hints?.environment === environment && wanted.isSubsetOf(hints.topics)) return;
  // What an earlier page looked at is kept: people go back and forth.
  const topics = hints?.environment === environment ? hints.topics.union(wanted) : wanted;
  closeHints();
  if (place.environment !== environment) place = { environment, cursor: "" };
  const close = keepOpen({
    method: "WatchService/Watch",
    request: () => ({ topics: [...topics].map(topicOf), cursor: place.cursor }),
    scope: environmentScope.peek(),
    onMessage({ topics: changed = [], cursor = "" }) {
      place = { environment, cursor };
      wake([...lookers].filter((looker) => looker.topics.some((topic) => changed.includes(topicOf(topic)))));
    },
    onBreak: () => wake(lookers),
    onEnd(error) {
      hints = undefined;
      if (error?.code !== "permission_denied" || refused.size > 0) return;
      refused = new Set<LiveTopic>(["queries", "logs"]);
      settle();
    },
  });
  hints = { environment, topics, close };
}

function closeHints(): void {
  hints?.close();
  hints = undefined;
}

function topicOf(topic: LiveTopic): WatchTopicJson {
  return `WATCH_TOPIC_${topic.toUpperCase() as Uppercase<LiveTopic>}`;
}

isLoggedIn.subscribe(() => {
  refused = new Set();
  settleSoon();
});
environmentScope.subscribe(settleSoon);

/**
 * Follows a stream in place of hints until it ends by itself; it goes on after breaks. Opening one
 * closes the one before. Returns the way to end it.
 * @param request called for every opening
 */
export function follow<M extends StreamMethod>(
  method: M,
  request: () => StreamMethods[M][0],
  scope: CallScope,
  onMessage: (message: StreamMethods[M][1]) => void,
  onEnd: (error?: CallError) => void,
): () => void {
  endFollowed?.();
  closeHints();
  const ended = () => {
    if (endFollowed !== end) return;
    endFollowed = undefined;
    settleSoon();
  };
  const close = keepOpen({
    ...{ method, request, scope, onMessage },
    onEnd(error) {
      ended();
      onEnd(error);
    },
  });
  const end = () => {
    close();
    ended();
  };
  endFollowed = end;
  return end;
}
