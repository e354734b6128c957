/** Long lists of rows of one height, of which only those in sight are drawn. */

import { elementScroll, observeElementOffset, observeElementRect, Virtualizer } from "@tanstack/virtual-core";
import { useLayoutEffect, useReducer, useRef } from "preact/hooks";

const OVERSCAN = 12;
/** Rows up to which all are drawn. */
const ALL_ROWS = 100;

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

/** The rows that are in sight of the element, and some around them. */
export function useWindow(scroller: { readonly current: HTMLElement | null }, count: number, rowHeight: number): Shown {
  const isWindowed = count > ALL_ROWS;
  const [, draw] = useReducer<number, void>((times) => times + 1, 0);
  const made = useRef<Virtualizer<HTMLElement, Element> | null>(null);
  const options = {
    count: isWindowed ? count : 0,
    getScrollElement: () => scroller.current,
    estimateSize: () => rowHeight,
    overscan: OVERSCAN,
    scrollToFn: elementScroll,
    observeElementRect,
    observeElementOffset,
    onChange: () => draw(),
  };
  made.current ??= new Virtualizer(options);
  const windowed = made.current;
  windowed.setOptions(options);
  useLayoutEffect(() => windowed._didMount(), []);
  useLayoutEffect(() => windowed._willUpdate());
  if (!isWindowed) return { isWindowed, from: 0, to: count, before: 0, after: 0 };
  const items = windowed.getVirtualItems();
  const [first, last] = [items[0], items.at(-1)];
  if (!first || !last) return { isWindowed, from: 0, to: Math.min(count, ALL_ROWS), before: 0, after: (count - ALL_ROWS) * rowHeight };
  return { isWindowed, from: first.index, to: last.index + 1, before: first.start, after: windowed.getTotalSize() - last.end };
}
