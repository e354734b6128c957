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
  /** New records as they come; absent = these are not followed. */
  follow?(search: string, signal: AbortSignal, note: (text: string) => void): AsyncIterable<ViewedRecord>;
}

/** Milliseconds between two drawings of what comes. */
const FRAME_MS = 50;

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

  const read = async (add: (viewer: Viewer, records: readonly ViewedRecord[], older: string) => Viewer, token: string): Promise<void> => {
    reading.abort();
    reading = new AbortController();
    const own = reading.signal;
    viewer = { ...viewer, older: undefined };
    try {
      const { records, older } = await log.read(viewer.search, token, AbortSignal.any([own, signal]));
      if (!own.aborted) show(add(viewer, records, older));
    } catch (error) {
      if (!own.aborted && !signal.aborted) show(say({ ...viewer, older: token }, errorText(error)));
    }
  };
  const follow = async (): Promise<void> => {
    following.abort();
    if (!viewer.following || !log.follow) return;
    following = new AbortController();
    const own = following.signal;
    try {
      for await (const record of log.follow(viewer.search, AbortSignal.any([own, signal]), (text) => show(say(viewer, text)))) {
        if (own.aborted) return;
        show(addNewer(viewer, [record]));
      }
    } catch (error) {
      if (!own.aborted && !signal.aborted) show(say({ ...viewer, following: false }, errorText(error)));
    }
  };
  const grant = async (wish: Wish | undefined, token: string | undefined): Promise<void> => {
    if (wish === "quit") leave();
    if (wish === "older" && token) await read(addOlder, token);
    if (wish === "search") await Promise.all([read(replace, ""), follow()]);
    if (wish === "follow") await follow();
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

function screenSize({ height, width }: Screen): { readonly width: number; readonly height: number } {
  return { width, height };
}
