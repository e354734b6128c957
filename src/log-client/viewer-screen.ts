/** The rows of the interactive view, none wider than the screen. */

import { escapeControls } from "../domain/name.ts";
import { visibleLines } from "../domain/visible.ts";
import { displayWidth, padded, truncate } from "../output/table.ts";
import { caretLine } from "./check-search.ts";
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
const SOURCE = 10;

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

function head({ search, typing, width }: Viewer, paint: Paint): string {
  const shown = typing ?? search;
  const text = typing === undefined ? ` ${escapeControls(shown) || "everything"}` : `/${escapeControls(shown)}_`;
  return paint(typing === undefined ? INVERSE : "", padded(fit(text, width, typing !== undefined), width));
}

function body(viewer: Viewer, paint: Paint): string[] {
  const { chosen, height, opened, records, top } = viewer;
  const record = records[chosen];
  const rows =
    opened !== undefined && record
      ? openedRows(record, viewer.width).slice(Math.min(opened, Math.max(0, openedRows(record, viewer.width).length - height)))
      : records.slice(top, top + height).map((one, nth) => recordRow(one, top + nth === chosen, viewer.width, paint));
  return Array.from({ length: height }, (_, nth) => rows[nth] ?? "");
}

function recordRow({ time, level, source, text }: ViewedRecord, isChosen: boolean, width: number, paint: Paint): string {
  const at = width >= WIDE ? time.slice(0, 23) : time.slice(11, 19);
  const name = width >= NARROW ? ` ${level.toUpperCase().slice(0, 5).padEnd(5)}` : "";
  const where = width >= NARROW ? ` ${padded(truncate(escapeControls(source), SOURCE), SOURCE)}` : "";
  const rest = width - 2 - at.length - name.length - displayWidth(where) - 1;
  const said = truncate(escapeControls(text.replaceAll("\n", " ")), Math.max(0, rest));
  if (isChosen) return paint(BOLD, `> ${at}${name}${where} ${said}`);
  return `  ${paint(DIM, at)}${paint(COLOURS[level] ?? DIM, name)}${where} ${said}`;
}

function openedRows({ fields, text }: ViewedRecord, width: number): string[] {
  const names = Math.min(24, Math.max(...fields.map(([name]) => name.length), 0));
  const facts = fields.flatMap(([name, value]) => wrapped(`${escapeControls(name).padEnd(names)}  ${escapeControls(value)}`, width));
  return [...wrapped(visibleLines(text), width), "", ...facts];
}

function wrapped(text: string, width: number): string[] {
  return Bun.wrapAnsi(text.replaceAll("\t", "    "), width, { hard: true, trim: false }).split("\n");
}

function foot({ chosen, following, message, older, opened, problem, records, typing, width }: Viewer, paint: Paint): string[] {
  if (typing !== undefined) {
    const caret = problem ? fit(` ${caretLine(typing, problem)}`, width, displayWidth(typing) + 2 > width) : "";
    const said = problem ? `column ${problem.columnIn(typing)}: ${problem.message}` : "Enter searches, Esc leaves it as it was";
    return [caret, paint(problem ? (COLOURS.error ?? "") : DIM, truncate(said, width))];
  }
  const place = records.length === 0 ? "no lines" : `${chosen + 1}/${records.length}${older === "" ? "" : "+"}`;
  const state = [place, ...(following ? ["following"] : []), ...(message === "" ? [] : [message])].join("  ");
  const keys = opened === undefined ? "/ search  Enter open  f follow  q quit" : "Enter or Esc close  arrows scroll";
  return [paint(DIM, truncate(state, width)), paint(INVERSE, padded(truncate(` ${keys}`, width), width))];
}

/** The end of a text that is typed, or else its beginning, as far as there is room. */
function fit(text: string, width: number, atEnd: boolean): string {
  if (!atEnd || displayWidth(text) <= width) return truncate(text, width);
  let shown = text;
  while (displayWidth(shown) > width) shown = [...shown].slice(1).join("");
  return shown;
}
