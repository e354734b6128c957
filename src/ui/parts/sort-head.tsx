import type { Column } from "./window-table.tsx";

interface HeadParts<Row> {
  readonly column: Column<Row>;
  readonly sort: string | undefined;
  readonly onSort: ((sort: string) => void) | undefined;
}

/** The head of a column, a button where one can sort by it: up, then down. */
export function SortHead<Row>({ column: { name, title, sort: by, isNumber }, sort = "", onSort }: HeadParts<Row>) {
  const isSorted = sort.replace(/^-/, "") === name;
  const isDown = sort.startsWith("-");
  const order = isSorted ? (isDown ? "descending" : "ascending") : undefined;
  return (
    <th scope="col" class={isNumber ? "number" : undefined} aria-sort={order}>
      {by && onSort ? (
        <button type="button" class="head" onClick={() => onSort(isSorted && !isDown ? `-${name}` : name)}>
          {title}
          <span aria-hidden="true">{isSorted ? (isDown ? " \u2193" : " \u2191") : ""}</span>
        </button>
      ) : (
        title
      )}
    </th>
  );
}
