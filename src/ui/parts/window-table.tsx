import type { ComponentChildren } from "preact";
import { useRef } from "preact/hooks";
import { SortHead } from "./sort-head.tsx";
import { useWindow } from "./window.ts";

/** A column of a table. */
export interface Column<Row> {
  /** Its name in the address, when one can sort by it. */
  readonly name: string;
  readonly title: string;
  readonly cell: (row: Row) => ComponentChildren;
  /** What its rows are sorted by; absent = one cannot sort by it. */
  readonly sort?: (row: Row) => string | number;
  readonly isNumber?: boolean;
  /**
   * Whether its cells take several lines, because no other page has their text; not in a table of
   * many rows.
   */
  readonly wraps?: boolean;
  /** CSS width; absent = a share of what is left. */
  readonly width?: string;
}

interface TableParts<Row> {
  /** What the table is of, for screen readers. */
  readonly label: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly keyOf: (row: Row) => string;
  /** Name of the column that the rows are sorted by, with `-` before it for the reverse. */
  readonly sort?: string;
  /** Called with the next value of `sort`. */
  readonly onSort?: (sort: string) => void;
  /** Height of a row in pixels. */
  readonly rowHeight?: number;
}

const ROW_HEIGHT = 30;
/** Least width of a column that takes a share of what is left. */
const LEAST_SHARE = "10rem";

/** A table of any number of rows, of which only those in sight are in the document. */
export function WindowTable<Row>({ label, columns, rows, keyOf, sort, onSort, rowHeight = ROW_HEIGHT }: TableParts<Row>) {
  const scroller = useRef<HTMLElement>(null);
  const shown = useWindow(scroller, rows.length, rowHeight);
  const { isWindowed } = shown;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
    <section class={isWindowed ? "table windowed" : "table"} ref={scroller} tabIndex={0} aria-label={label}>
      <table aria-rowcount={rows.length + 1} aria-label={label} style={{ minWidth: leastWidth(columns) }}>
        <colgroup>
          {columns.map(({ name, width }) => (
            <col key={name} style={width === undefined ? {} : { width }} />
          ))}
        </colgroup>
        <thead>
          <tr>
            {columns.map((column) => (
              <SortHead key={column.name} column={column} sort={sort} onSort={onSort} />
            ))}
          </tr>
        </thead>
        <tbody>
          {shown.before > 0 && <Gap height={shown.before} columns={columns.length} />}
          {rows.slice(shown.from, shown.to).map((row, at) => (
            <tr key={keyOf(row)} aria-rowindex={shown.from + at + 2} style={isWindowed ? { height: `${rowHeight}px` } : {}}>
              {columns.map(({ name, cell, isNumber, wraps }) => (
                <td key={name} class={`${isNumber ? "number" : ""} ${wraps ? "wraps" : ""}`}>
                  {cell(row)}
                </td>
              ))}
            </tr>
          ))}
          {shown.after > 0 && <Gap height={shown.after} columns={columns.length} />}
        </tbody>
      </table>
    </section>
  );
}

/** The width below which a table scrolls, so that no column is squeezed away. */
function leastWidth<Row>(columns: readonly Column<Row>[]): string {
  return `calc(${columns.map(({ width = LEAST_SHARE }) => width).join(" + ")})`;
}

/** Rows in the order that `sort` names; those that are equal keep theirs. */
export function sorted<Row>(rows: readonly Row[], columns: readonly Column<Row>[], sort: string): readonly Row[] {
  const by = columns.find(({ name }) => name === sort.replace(/^-/, ""))?.sort;
  if (!by) return rows;
  const sign = sort.startsWith("-") ? -1 : 1;
  return rows
    .map((row) => ({ row, value: by(row) }))
    .sort((a, b) => sign * (a.value < b.value ? -1 : a.value > b.value ? 1 : 0))
    .map(({ row }) => row);
}

function Gap({ height, columns }: { readonly height: number; readonly columns: number }) {
  return (
    <tr class="gap">
      <td colSpan={columns} style={{ height: `${height}px` }} />
    </tr>
  );
}
