/** The state of a pager, without a terminal: which line is on top, and what a key does. */

/** What is on the screen. */
export interface Pages {
  readonly lines: readonly string[];
  /** Rows of the screen, without the last one, which is the pager's own. */
  readonly height: number;
  /** Index of the first line that is shown. */
  readonly top: number;
  /** What is being typed behind a slash; undefined when nothing is. */
  readonly typing: string | undefined;
  /** What was looked for last. */
  readonly sought: string;
  /** Said in the last row until the next key. */
  readonly message: string;
  readonly done: boolean;
}

/** The pages of a text, from their beginning. */
export function startPages(lines: readonly string[], height: number): Pages {
  return { lines, height, top: 0, typing: undefined, sought: "", message: "", done: false };
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
 * What a key does: q or Ctrl-C ends, arrows and space move, `/` searches, n searches on. Other keys
 * do nothing.
 */
export function press(pages: Pages, key: string): Pages {
  const quiet = { ...pages, message: "" };
  if (key === "\u0003") return { ...quiet, done: true };
  if (pages.typing !== undefined) return type(quiet, pages.typing, key);
  if (key === "q" || key === "Q" || key === "\u0004") return { ...quiet, done: true };
  if (key === "/") return { ...quiet, typing: "" };
  if (key === "n") return seek(quiet, pages.sought, pages.top + 1);
  const move = MOVES[key];
  return move ? { ...quiet, top: withinText(pages, move(pages)) } : quiet;
}

/** Whether the last line is on the screen. */
export function atEnd({ lines, height, top }: Pages): boolean {
  return top + height >= lines.length;
}

function type(pages: Pages, typed: string, key: string): Pages {
  if (key === "\r" || key === "\n") return seek({ ...pages, typing: undefined }, typed === "" ? pages.sought : typed, pages.top);
  if (key === "\u001b") return { ...pages, typing: undefined };
  if (key === "\u007f" || key === "\b") return { ...pages, typing: typed === "" ? undefined : typed.slice(0, -1) };
  return key < " " || key.startsWith("\u001b") ? pages : { ...pages, typing: typed + key };
}

function seek(pages: Pages, sought: string, from: number): Pages {
  if (sought === "") return pages;
  const wanted = sought.toLowerCase();
  const found = pages.lines.findIndex((line, index) => index >= from && Bun.stripANSI(line).toLowerCase().includes(wanted));
  return found < 0 ? { ...pages, sought, message: "not found" } : { ...pages, sought, top: withinText(pages, found) };
}

function withinText({ lines, height }: Pages, top: number): number {
  return Math.max(0, Math.min(top, lines.length - height));
}
