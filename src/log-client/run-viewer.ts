/** The interactive view on a screen: it reads what keys ask for, and shows what comes. */

import type { Screen } from "../context/screen.ts";
import { errorText } from "../domain/error-text.ts";
import type { FieldSet } from "../domain/search/fields.ts";
import { addNewer, addOlder, press, replace, resize, say, startViewer, type ViewedRecord, type Viewer, type Wish } from "./viewer.ts";
import { type Looks, screenRows } from "./viewer-screen.ts";

/** Where the records come from. */
export interface ViewedLog {
  readonly fields: FieldSet;
  /** A page, oldest first, and the token of older ones; empty = there are none. */
  read(
    search: string,
    pageToken: string,
    signal: AbortSignal,
  ): Promise<{ readonly records: readonly ViewedRecord[]; readonly older: string }>;
  /**
   * Records from a time on, and new ones as they come; absent = these are not followed.
   * @param startTime epoch milliseconds; undefined = any time
   */
  follow?(search: string, startTime: number | undefined, signal: AbortSignal, note: (text: string) => void): AsyncIterable<ViewedRecord>;
}

/** Milliseconds between two drawings of what comes. */
const FRAME_MS = 50;
/** Milliseconds by which a record that arrives after another may have been written before it. */
const LATE_MS = 10_000;

/** Runs the view until it is left. Rejects with the signal's reason when that is aborted. */
export async function runViewer(
  screen: Screen,
  log: ViewedLog,
  start: { readonly search: string } & Looks,
  signal: AbortSignal,
): Promise<void> {
  let viewer = startViewer({ ...screenSize(screen), fieldSet: log.fields, search: start.search, following: log.follow && false });
  let drawing: ReturnType<typeof setTimeout> | undefined;
  let reading = new AbortController();
  let following = new AbortController();
  const { promise: left, resolve: leave, reject: fail } = Promise.withResolvers<void>();

  const draw = (): void => {
    drawing ??= setTimeout(() => {
      drawing = undefined;
      screen.draw(screenRows(viewer, start)).catch(fail);
    }, FRAME_MS);
  };
  const show = (next: Viewer): void => {
    viewer = next;
    draw();
  };

  /** Resolves with whether the records are there; otherwise other ones are, or a message is. */
  const read = async (
    add: (viewer: Viewer, records: readonly ViewedRecord[], older: string) => Viewer,
    token: string,
  ): Promise<boolean> => {
    reading.abort();
    reading = new AbortController();
    const own = reading.signal;
    viewer = { ...viewer, older: undefined };
    try {
      const { records, older } = await log.read(viewer.search, token, AbortSignal.any([own, signal]));
      if (!own.aborted) show(add(viewer, records, older));
    } catch (error) {
      if (own.aborted || signal.aborted) return false;
      const following = token === "" ? viewer.following && false : viewer.following;
      show(say({ ...viewer, older: token, following }, errorText(error)));
      return false;
    }
    return !own.aborted;
  };
  /** Follows what was read: without a gap, and without what is there already. */
  const follow = async (): Promise<void> => {
    if (!viewer.following || !log.follow) return;
    following = new AbortController();
    const own = following.signal;
    const last = viewer.records.at(-1);
    const startTime = last && Date.parse(last.time) - LATE_MS;
    const known = new Map<string, number>();
    for (const record of viewer.records) known.set(keyOf(record), (known.get(keyOf(record)) ?? 0) + 1);
    try {
      const records = log.follow(viewer.search, startTime, AbortSignal.any([own, signal]), (text) => show(say(viewer, text)));
      for await (const record of records) {
        if (own.aborted) return;
        const times = known.get(keyOf(record)) ?? 0;
        if (times > 0) known.set(keyOf(record), times - 1);
        else show(addNewer(viewer, [record]));
      }
    } catch (error) {
      if (!own.aborted && !signal.aborted) show(say({ ...viewer, following: false }, errorText(error)));
    }
  };
  const grant = async (wish: Wish | undefined, token: string | undefined): Promise<void> => {
    if (wish === "quit") leave();
    if (wish === "older" && token) await read(addOlder, token);
    if (wish === "search" || wish === "unfollow") following.abort();
    if (wish === "search" && (await read(replace, ""))) await follow();
  };

  screen.listen((event) => {
    if (event.is === "resize") return show(resize(viewer, screen.width, screen.height));
    const { older } = viewer;
    const { viewer: next, wish } = press(viewer, event.key);
    show(next);
    grant(wish, older).catch(fail);
  });
  signal.addEventListener("abort", () => fail(signal.reason), { once: true });
  draw();
  read(replace, "").catch(fail);
  try {
    await left;
  } finally {
    clearTimeout(drawing);
    reading.abort();
    following.abort();
  }
}

function keyOf({ fields, text }: ViewedRecord): string {
  return JSON.stringify([text, fields]);
}

function screenSize({ height, width }: Screen): { readonly width: number; readonly height: number } {
  return { width, height };
}
