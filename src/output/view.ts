/**
 * The presentation of a command's data. A command declares one view; `render.ts` turns data and
 * view into a table, plain text or JSON.
 */

/**
 * Marks for parts of a text by their meaning; the renderer shows them as colours on a terminal, and
 * nowhere else.
 */
export interface Style {
  dim(text: string): string;
  bold(text: string): string;
  red(text: string): string;
  yellow(text: string): string;
  green(text: string): string;
  cyan(text: string): string;
  /** An address, or on a terminal with hyperlinks a text that links to it. */
  link(url: string, text: string): string;
  /** Columns of the terminal; Infinity when output is not a terminal. */
  readonly width: number;
  /** Whether output is a terminal. */
  readonly isTTY: boolean;
  /** Whether marks are shown as colours. */
  readonly hasColor: boolean;
  /** The time at which ages end, in epoch milliseconds. */
  readonly now: number;
}

/** One column of a table. */
export interface Column<Row> {
  /** Header, as in the inventory. */
  readonly header: string;
  /** The cell's text. The renderer escapes control characters. */
  cell(row: Row, style: Style): string;
  /** Alignment; right for numbers. Default left. */
  readonly align?: "left" | "right";
  /**
   * Whether a narrow terminal may shorten the cell. Default false: ids and names are shown in full,
   * on lines of their own if need be.
   */
  readonly flexible?: boolean;
  /**
   * Whether a terminal that has no room for the column goes without it, where this saves rows from
   * becoming blocks. Default false.
   */
  readonly dispensable?: boolean;
  /** The cell's text with a mark, for example green for a check mark. */
  style?(text: string, style: Style, row: Row): string;
}

/** A table: rows are taken from the data; an empty table shows `No <things> found.` on stderr. */
export interface TableView<Data, Row> {
  readonly kind: "table";
  readonly columns: readonly Column<Row>[];
  rows(data: Data): readonly Row[];
  /** Plural noun for the empty table's note, for example "branches". */
  readonly things: string;
  /** Lines on stdout before the table, for example a link. */
  before?(data: Data, style: Style): string;
  /** Lines on stdout after the table. */
  after?(data: Data, style: Style): string;
  /** The data as a JSON document, or a promise of it; default: the data itself. */
  json?(data: Data): unknown;
  /** Whether a terminal shows it in a pager when it is higher than the screen. */
  readonly long?: boolean;
}

/** A text that the command's view makes. It needs no newline at the end. */
export interface TextView<Data> {
  readonly kind: "text";
  text(data: Data, style: Style): string;
  /** The data as a JSON document, or a promise of it; default: the data itself. */
  json?(data: Data): unknown;
  /** Whether a terminal shows it in a pager when it is higher than the screen. */
  readonly long?: boolean;
}

/** Bytes, as they are, whatever form was asked for. A terminal is refused before. */
export interface BytesView<Data> {
  readonly kind: "bytes";
  bytes(data: Data): Uint8Array;
}

/** A view that depends on the data, for commands whose data has several forms. */
export interface ChoiceView<Data> {
  readonly kind: "choice";
  /**
   * The view of one item; the same object for items of one form, so that a stream's columns stay
   * aligned.
   */
  of(data: Data): TableView<Data, never> | TextView<Data> | BytesView<Data>;
}

/** The view of a command's data. */
export type View<Data> = TableView<Data, never> | TextView<Data> | BytesView<Data> | ChoiceView<Data>;

/** A table view; the call only checks the row's type between `rows` and `columns`. */
export function tableView<Data, Row>(view: Omit<TableView<Data, Row>, "kind">): View<Data> {
  return { kind: "table", ...view } as unknown as View<Data>;
}

/** A text view. */
export function textView<Data>(
  text: (data: Data, style: Style) => string,
  json?: (data: Data) => unknown,
  { long = false }: { readonly long?: boolean } = {},
): View<Data> {
  return { kind: "text", text, json, long };
}

/** A view of bytes. */
export function bytesView<Data>(bytes: (data: Data) => Uint8Array): View<Data> {
  return { kind: "bytes", bytes };
}

/** A view that depends on the data. Each chosen view only gets data of its own form. */
export function choiceView<Data>(of: (data: Data) => View<never>): View<Data> {
  return { kind: "choice", of } as unknown as View<Data>;
}
