/** Markdown as a terminal shows it. */

import { visibleLines } from "../domain/visible.ts";
import type { Style } from "./view.ts";

/** Widest lines of prose. */
const WIDEST = 100;

/** The text for a terminal, with colours and wrapped lines; elsewhere as it is. */
export function markdownText(markdown: string, style: Style): string {
  if (!style.isTTY) return markdown;
  return Bun.markdown.ansi(visibleLines(markdown), { colors: style.hasColor, columns: Math.min(style.width, WIDEST) });
}
