/** The rows of the interactive view, none wider than the screen. */

import { escapeControls } from "../domain/name.ts";
import { displayWidth, padded, truncate } from "../output/table.ts";
import { caretLine } from "./check-search.ts";
import { openedRows } from "./opened-record.ts";
import type { ViewedRecord, Viewer } from "./viewer.ts";

const INVERSE = "\u001b[7m";
const PLAIN = "\u001b[0m";
const BOLD = "\u001b[1m";
const DIM = "\u001b[2m";
const COLOURS: Readonly<Record<string, string>> = { fatal: "\u001b[31m", error: "\u001b[31m", warning: "\u001b[33m", info: "\u001b[36m" };
/** Columns from which times are shown with their date. */
const WIDE = 100;
/** Columns from which level and source are shown, and columns of the source. */
const NARROW = 50;
const SOURCE = 12;

/** How the screen looks. */
export interface Looks {
  /** Whether there are colours; the chosen record is marked in either case. */
  readonly colour: boolean;
}

/** The rows of the screen. */
export function screenRows(viewer: Viewer, { colour }: Looks): string[] {
  const paint = (code: string, text: string): string => (colour && text !== "" ? `${code}${text}${PLAIN}` : text);
  return [head(viewer, paint), ...body(viewer, paint), ...foot(viewer, paint)];
}

type Paint = (code: string, text: string) => string;

function head(viewer: Viewer, paint: Paint): string {
  const { search, typing, width } = viewer;
  if (typing !== undefined) return padded(typedRows(viewer, typing).text, width);
  return paint(INVERSE, padded(truncate(` ${escapeControls(search) || "everything"}`, width), width));
}

function body(viewer: Viewer, paint: Paint): string[] {
  const { chosen, height, opened, records, top } = viewer;
  const record = records[chosen];
  const rows =
    opened !== undefined && record
      ? openedRows(record, viewer.width).slice(opened)
      : records.slice(top, top + height).map((one, nth) => recordRow(one, top + nth === chosen, viewer.width, paint));
  return Array.from({ length: height }, (_, nth) => rows[nth] ?? "");
}

function recordRow({ time, level, more = "", source, text }: ViewedRecord, isChosen: boolean, width: number, paint: Paint): string {
  const at = width >= WIDE ? time.slice(0, 23) : time.slice(11, 19);
  const name = width >= NARROW ? ` ${(level === "warning" ? "WARN" : level.toUpperCase()).padEnd(5)}` : "";
  const where = width >= NARROW ? ` ${padded(truncate(escapeControls(source), SOURCE), SOURCE)}` : "";
  const rest = width - 2 - at.length - name.length - displayWidth(where) - 1;
  const said = truncate(escapeControls(`${text.replaceAll("\n", " ")} ${more}`.trimEnd()), Math.max(0, rest));
  if (isChosen) return paint(BOLD, `> ${at}${name}${where} ${said}`);
  return `  ${paint(DIM, at)}${paint(COLOURS[level] ?? DIM, name)}${where} ${said}`;
}

function foot(viewer: Viewer, paint: Paint): string[] {
  const { chosen, following, message, older, opened, problem, records, typing, width } = viewer;
  if (typing !== undefined) {
    const said = problem ? `column ${problem.columnIn(typing)}: ${problem.message}` : "Enter searches, Esc leaves it as it was";
    return [typedRows(viewer, typing).caret, paint(problem ? (COLOURS.error ?? "") : DIM, truncate(said, width))];
  }
  const place =
    records.length === 0 ? (older === undefined ? "reading" : "no lines") : `${chosen + 1}/${records.length}${older === "" ? "" : "+"}`;
  const state = [place, ...(following ? ["following"] : []), ...(message === "" ? [] : [message])].join("  ");
  const follow = following === undefined ? "" : `  f ${following ? "stop following" : "follow"}`;
  const keys = opened === undefined ? `/ search  Enter open${follow}  q quit` : "Enter or Esc close  arrows scroll";
  return [paint(DIM, truncate(state, width)), paint(INVERSE, padded(truncate(` ${keys}`, width), width))];
}

/**
 * What is typed, and a caret that belongs below what is wrong with it: the end of it, or where
 * there is no room for all, from the mistake on.
 */
function typedRows({ problem, width }: Viewer, typing: string): { readonly text: string; readonly caret: string } {
  const whole = `/${escapeControls(typing)}_`;
  const caret = problem ? ` ${caretLine(typing, problem)}` : "";
  const beyond = Math.max(0, displayWidth(whole) - width);
  const { rest, cut } = withoutBegin(whole, problem ? Math.min(beyond, caret.indexOf("^")) : beyond);
  return { text: truncate(rest, width), caret: truncate(caret.slice(cut), width) };
}

/** The text without at least so many columns at its begin, and how many those were. */
function withoutBegin(text: string, columns: number): { readonly rest: string; readonly cut: number } {
  let cut = 0;
  let at = 0;
  for (const sign of text) {
    if (cut >= columns) break;
    cut += displayWidth(sign);
    at += sign.length;
  }
  return { rest: text.slice(at), cut };
}
