/** The state of a pager, without a terminal: the line on top, and the effect of keys. */

/** The content of the screen. */
export interface Pages {
  readonly lines: readonly string[];
  /** Rows of the screen, without the last one, which is the pager's status line. */
  readonly height: number;
  /** Index of the first visible line. */
  readonly top: number;
  /** The search text being typed after a slash; undefined when none is. */
  readonly typing: string | undefined;
  /** The last search text. */
  readonly lastSearch: string;
  /** A message in the status line until the next key. */
  readonly message: string;
  readonly done: boolean;
}

/** The pages of a text, from their beginning. */
export function startPages(lines: readonly string[], height: number): Pages {
  return { lines, height, top: 0, typing: undefined, lastSearch: "", message: "", done: false };
}

const MOVES: Readonly<Record<string, (pages: Pages) => number>> = {
  "\u001b[A": ({ top }) => top - 1,
  k: ({ top }) => top - 1,
  "\u001b[B": ({ top }) => top + 1,
  j: ({ top }) => top + 1,
  "\r": ({ top }) => top + 1,
  "\n": ({ top }) => top + 1,
  " ": ({ top, height }) => top + height,
  f: ({ top, height }) => top + height,
  "\u001b[6~": ({ top, height }) => top + height,
  b: ({ top, height }) => top - height,
  "\u001b[5~": ({ top, height }) => top - height,
  g: () => 0,
  "\u001b[H": () => 0,
  G: ({ lines }) => lines.length,
  "\u001b[F": ({ lines }) => lines.length,
};

/**
 * The state after a key, or the end: q or Ctrl-C quits, arrows and space move, `/` searches, n
 * finds the next match. Other keys do nothing.
 */
export function press(pages: Pages, key: string): Pages {
  const quiet = { ...pages, message: "" };
  if (key === "\u0003") return { ...quiet, done: true };
  if (pages.typing !== undefined) return type(quiet, pages.typing, key);
  if (key === "q" || key === "Q" || key === "\u0004") return { ...quiet, done: true };
  if (key === "/") return { ...quiet, typing: "" };
  if (key === "n") return seek(quiet, pages.lastSearch, pages.top + 1);
  const move = MOVES[key];
  return move ? { ...quiet, top: withinText(pages, move(pages)) } : quiet;
}

/** Whether the last line is visible. */
export function atEnd({ lines, height, top }: Pages): boolean {
  return top + height >= lines.length;
}

function type(pages: Pages, typed: string, key: string): Pages {
  if (key === "\r" || key === "\n") return seek({ ...pages, typing: undefined }, typed === "" ? pages.lastSearch : typed, pages.top);
  if (key === "\u001b") return { ...pages, typing: undefined };
  if (key === "\u007f" || key === "\b") return { ...pages, typing: typed === "" ? undefined : typed.slice(0, -1) };
  return key < " " || key.startsWith("\u001b") ? pages : { ...pages, typing: typed + key };
}

function seek(pages: Pages, sought: string, from: number): Pages {
  if (sought === "") return pages;
  const wanted = sought.toLowerCase();
  const found = pages.lines.findIndex((line, index) => index >= from && Bun.stripANSI(line).toLowerCase().includes(wanted));
  return found < 0
    ? { ...pages, lastSearch: sought, message: "not found" }
    : { ...pages, lastSearch: sought, top: withinText(pages, found) };
}

function withinText({ lines, height }: Pages, top: number): number {
  return Math.max(0, Math.min(top, lines.length - height));
}
