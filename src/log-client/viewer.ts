/**
 * The state of the interactive view of a log, without a terminal and without a server: what is
 * shown, and what keys do.
 */

import type { FieldSet } from "../domain/search/fields.ts";
import type { SearchError } from "../domain/search/search-error.ts";
import { searchProblem } from "./check-search.ts";
import { openedRows } from "./opened-record.ts";

/** A record as the view shows it. */
export interface ViewedRecord {
  /** RFC 3339 with microseconds. */
  readonly time: string;
  readonly level: string;
  /** Where it comes from, in few letters. */
  readonly source: string;
  readonly text: string;
  /** What stands behind the text in its row. */
  readonly more?: string;
  /** All that is known of it, by name. */
  readonly fields: readonly (readonly [name: string, value: string])[];
}

/** The state. */
export interface Viewer {
  readonly fieldSet: FieldSet;
  /** Oldest first; at most MOST_KEPT. */
  readonly records: readonly ViewedRecord[];
  /** Index of the chosen record, and of the first that is visible. */
  readonly chosen: number;
  readonly top: number;
  /** Rows for records, and columns. */
  readonly height: number;
  readonly width: number;
  readonly search: string;
  /** The search that is being typed; undefined = none is. */
  readonly typing: string | undefined;
  /** Why what is being typed is not understood. */
  readonly problem: SearchError | undefined;
  /** Whether new records are shown as they come; undefined = these records are not followed. */
  readonly following: boolean | undefined;
  /** First visible line of the chosen record's fields, when they are open. */
  readonly opened: number | undefined;
  /** Token of older records; empty = there are none, undefined = they are being read. */
  readonly older: string | undefined;
  /** What is said in the last row. */
  readonly message: string;
}

/** What a key asks for beside another state: `search` also follows what is found, if it should. */
export type Wish = "older" | "search" | "unfollow" | "quit";

/** Records that are kept; the oldest go when more come. */
export const MOST_KEPT = 5_000;
/** Rows beside the records: the search above, and two below. */
export const OTHER_ROWS = 3;
const MOST_TYPED = 2_000;

/** The state at the start. */
export function startViewer(
  start: Pick<Viewer, "fieldSet" | "following" | "search"> & { readonly width: number; readonly height: number },
): Viewer {
  return {
    ...{ records: [], chosen: 0, top: 0, typing: undefined, problem: undefined, opened: undefined, older: undefined, message: "" },
    ...{ fieldSet: start.fieldSet, following: start.following, search: start.search },
    ...sizeOf(start.width, start.height),
  };
}

function sizeOf(width: number, height: number): Pick<Viewer, "width" | "height"> {
  return { width: Math.max(20, width), height: Math.max(1, height - OTHER_ROWS) };
}

/** The state on a screen of another size. */
export function resize(viewer: Viewer, width: number, height: number): Viewer {
  return visible({ ...viewer, ...sizeOf(width, height) });
}

/** The state with records that came before those that are there. */
export function addOlder(viewer: Viewer, records: readonly ViewedRecord[], older: string): Viewer {
  const all = [...records, ...viewer.records].slice(-MOST_KEPT);
  const added = all.length - viewer.records.length;
  const isFull = all.length === MOST_KEPT;
  const message = isFull ? `the view keeps ${MOST_KEPT} lines; narrow the search for older ones` : viewer.message;
  return visible({ ...viewer, records: all, chosen: viewer.chosen + added, top: viewer.top + added, older: isFull ? "" : older, message });
}

/** The state with the records of another search, newest chosen. */
export function replace(viewer: Viewer, records: readonly ViewedRecord[], older: string): Viewer {
  const message = records.length === 0 && older === "" ? "nothing found" : "";
  return visible({ ...viewer, records, chosen: records.length - 1, top: records.length, older, opened: undefined, message });
}

/** The state with records that came just now. Who looks at the newest goes on to do so. */
export function addNewer(viewer: Viewer, records: readonly ViewedRecord[]): Viewer {
  const isAtEnd = viewer.chosen >= viewer.records.length - 1;
  const all = [...viewer.records, ...records];
  const gone = Math.max(0, all.length - MOST_KEPT);
  const chosen = isAtEnd && viewer.opened === undefined ? all.length - 1 - gone : Math.max(0, viewer.chosen - gone);
  return visible({ ...viewer, records: all.slice(gone), chosen, top: Math.max(0, viewer.top - gone) });
}

/** The state with a message in its last row. */
export function say(viewer: Viewer, message: string): Viewer {
  return { ...viewer, message };
}

/** The state with the chosen record on the screen. */
function visible(viewer: Viewer): Viewer {
  const { height, records } = viewer;
  const chosen = Math.min(Math.max(0, viewer.chosen), Math.max(0, records.length - 1));
  const last = Math.max(0, records.length - height);
  const top = Math.min(Math.max(Math.min(viewer.top, chosen), chosen - height + 1, 0), last);
  const opened = viewer.opened === undefined ? undefined : scrolled({ ...viewer, chosen }, viewer.opened);
  return { ...viewer, chosen, top, opened };
}

/** The first visible line of the open record, such that its last line is not above the screen's. */
function scrolled({ chosen, height, records, width }: Viewer, line: number): number {
  const record = records[chosen];
  const last = record ? Math.max(0, openedRows(record, width).length - height) : 0;
  return Math.min(Math.max(0, line), last);
}

const UP = ["\u001b[A", "\u001bOA", "k"];
const DOWN = ["\u001b[B", "\u001bOB", "j"];
const PAGE_UP = ["\u001b[5~", "b"];
const PAGE_DOWN = ["\u001b[6~", " "];
const FIRST = ["g", "\u001b[H", "\u001bOH", "\u001b[1~"];
const LAST = ["G", "\u001b[F", "\u001bOF", "\u001b[4~"];
const ESCAPE = "\u001b";
const ENTER = ["\r", "\n"];
const RUBOUT = ["\u007f", "\b"];
const CTRL_D = "\u0004";
const CTRL_U = "\u0015";

/** The state after a key, and what it asks for. Other keys do nothing. */
export function press(before: Viewer, key: string): { readonly viewer: Viewer; readonly wish?: Wish } {
  const viewer = { ...before, message: "" };
  if (viewer.typing !== undefined) return type(viewer, viewer.typing, key);
  if (key === "q" || key === CTRL_D)
    return viewer.opened === undefined || key === CTRL_D ? { viewer, wish: "quit" } : { viewer: { ...viewer, opened: undefined } };
  if (key === "/") return { viewer: { ...viewer, typing: viewer.search, opened: undefined } };
  if (key === "f") {
    if (viewer.following === undefined) return { viewer: say(viewer, "these records are not followed") };
    const following = !viewer.following;
    return { viewer: { ...viewer, following, opened: undefined }, wish: following ? "search" : "unfollow" };
  }
  if (viewer.opened !== undefined) return pressOpened(viewer, viewer.opened, key);
  if (ENTER.includes(key)) return { viewer: viewer.records.length > 0 ? { ...viewer, opened: 0 } : viewer };
  const { chosen, height, records } = viewer;
  if (UP.includes(key)) return move(viewer, chosen - 1);
  if (DOWN.includes(key)) return move(viewer, chosen + 1);
  if (PAGE_UP.includes(key)) return move(viewer, chosen - height);
  if (PAGE_DOWN.includes(key)) return move(viewer, chosen + height);
  if (FIRST.includes(key)) return move(viewer, 0, true);
  if (LAST.includes(key)) return move(viewer, records.length - 1);
  return { viewer };
}

/** Chooses another record; going beyond the first asks for older ones. */
function move(viewer: Viewer, chosen: number, toFirst = false): { readonly viewer: Viewer; readonly wish?: Wish } {
  const moved = visible({ ...viewer, chosen });
  const wantsOlder = (chosen < 0 || toFirst) && viewer.older !== "" && viewer.older !== undefined;
  return wantsOlder ? { viewer: say(moved, "reading older lines"), wish: "older" } : { viewer: moved };
}

function pressOpened(viewer: Viewer, opened: number, key: string): { readonly viewer: Viewer } {
  if (key === ESCAPE || ENTER.includes(key)) return { viewer: { ...viewer, opened: undefined } };
  const by = UP.includes(key)
    ? -1
    : DOWN.includes(key)
      ? 1
      : PAGE_UP.includes(key)
        ? -viewer.height
        : PAGE_DOWN.includes(key)
          ? viewer.height
          : 0;
  const line = FIRST.includes(key) ? 0 : LAST.includes(key) ? Number.MAX_SAFE_INTEGER : opened + by;
  return { viewer: { ...viewer, opened: scrolled(viewer, line) } };
}

function type(viewer: Viewer, typing: string, key: string): { readonly viewer: Viewer; readonly wish?: Wish } {
  if (key === ESCAPE) return { viewer: { ...viewer, typing: undefined, problem: undefined } };
  if (ENTER.includes(key)) {
    const problem = searchProblem(typing, viewer.fieldSet);
    if (problem) return { viewer: { ...viewer, problem } };
    return { viewer: { ...viewer, typing: undefined, problem: undefined, search: typing, older: undefined }, wish: "search" };
  }
  const typed = RUBOUT.includes(key) ? [...typing].slice(0, -1).join("") : key === CTRL_U ? "" : isText(key) ? typing + key : typing;
  return { viewer: { ...viewer, typing: typed.slice(0, MOST_TYPED), problem: undefined } };
}

function isText(key: string): boolean {
  return !/[\p{Cc}\p{Cf}]/u.test(key);
}
