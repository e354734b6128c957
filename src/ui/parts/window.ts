/** Long lists of rows of one height, of which only those in sight are drawn. */

import { useLayoutEffect, useState } from "preact/hooks";

/** Rows that are drawn before those in sight, and after them. */
const AROUND = 12;
/** Rows up to which all are drawn. */
const ALL_ROWS = 100;
/** Rows of a list whose height is not known yet. */
const FIRST_ROWS = 30;

/** The rows that are drawn. */
export interface Shown {
  /** Whether some may be left out. */
  readonly isWindowed: boolean;
  readonly from: number;
  readonly to: number;
  /** Pixels of the rows before and after. */
  readonly before: number;
  readonly after: number;
}

/** Where a list is scrolled to, and how much of it is in sight, in rows. */
export interface Sight {
  readonly first: number;
  readonly rows: number;
}

/** The rows of a list that are drawn: those in sight, and some around them; at least one. */
export function shownRows(count: number, rowHeight: number, { first, rows }: Sight): Shown {
  if (count <= ALL_ROWS) return { isWindowed: false, from: 0, to: count, before: 0, after: 0 };
  // A list that became shorter is scrolled back only after it was drawn.
  const start = Math.max(0, Math.min(first, count - rows));
  const [from, to] = [Math.max(0, start - AROUND), Math.min(count, start + rows + AROUND)];
  return { isWindowed: true, from, to, before: from * rowHeight, after: (count - to) * rowHeight };
}

/** The rows that are in sight of the element, and some around them. */
export function useWindow(scroller: { readonly current: HTMLElement | null }, count: number, rowHeight: number): Shown {
  const [first, setFirst] = useState(0);
  const [rows, setRows] = useState(FIRST_ROWS);
  const shown = shownRows(count, rowHeight, { first, rows });
  useLayoutEffect(() => {
    const { current } = scroller;
    if (!current || !shown.isWindowed) return;
    const look = () => {
      setFirst(Math.floor(current.scrollTop / rowHeight));
      setRows(Math.ceil(current.clientHeight / rowHeight) + 1);
    };
    const resized = new ResizeObserver(look);
    resized.observe(current);
    current.addEventListener("scroll", look, { passive: true });
    return () => {
      resized.disconnect();
      current.removeEventListener("scroll", look);
    };
  }, [shown.isWindowed, rowHeight]);
  return shown;
}
