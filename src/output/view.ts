/**
 * How a command's data is shown. A command declares one view; `render.ts` turns data and view into
 * a table, plain text or JSON.
 */

/** Marks text with a meaning; the renderer gives it a colour on a terminal and none elsewhere. */
export interface Style {
  dim(text: string): string;
  bold(text: string): string;
  red(text: string): string;
  yellow(text: string): string;
  green(text: string): string;
  cyan(text: string): string;
  /** An address; on a terminal that can, a text that leads to it. */
  link(url: string, text: string): string;
  /** Columns of the terminal; Infinity when output is not a terminal. */
  readonly width: number;
  /** Whether output is a terminal. */
  readonly isTTY: boolean;
  /** When it is shown, in epoch milliseconds: ages count from then. */
  readonly now: number;
}

/** One column of a table. */
export interface Column<Row> {
  /** Header, as the inventory spells it. */
  readonly header: string;
  /** The cell's text. Control characters are escaped by the renderer. */
  cell(row: Row, style: Style): string;
  /** Numbers are aligned to the right. Default left. */
  readonly align?: "left" | "right";
  /**
   * Whether a narrow terminal may cut the cell. Default false: ids and names are shown whole, if
   * need be below each other.
   */
  readonly flexible?: boolean;
  /** A mark for the cell, for example green for a check mark. */
  style?(text: string, style: Style, row: Row): string;
}

/**
 * A table: rows are taken from the data, and the empty table says `No <things> found.` on stderr.
 */
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

/** Text made by the command's view. No newline at the end is needed. */
export interface TextView<Data> {
  readonly kind: "text";
  text(data: Data, style: Style): string;
  /** The data as a JSON document, or a promise of it; default: the data itself. */
  json?(data: Data): unknown;
  /** Whether a terminal shows it in a pager when it is higher than the screen. */
  readonly long?: boolean;
}

/** The view of a command whose data has several shapes. */
export interface ChoiceView<Data> {
  readonly kind: "choice";
  /**
   * The view of one item; the same object for items of one shape, so that a stream's columns stay
   * aligned.
   */
  of(data: Data): TableView<Data, never> | TextView<Data>;
}

/** The view of a command's data. */
export type View<Data> = TableView<Data, never> | TextView<Data> | ChoiceView<Data>;

/** Declares a table view; keeps the row's type checked between `rows` and `columns`. */
export function tableView<Data, Row>(view: Omit<TableView<Data, Row>, "kind">): View<Data> {
  return { kind: "table", ...view } as unknown as View<Data>;
}

/** Declares a text view. */
export function textView<Data>(
  text: (data: Data, style: Style) => string,
  json?: (data: Data) => unknown,
  { long = false }: { readonly long?: boolean } = {},
): View<Data> {
  return { kind: "text", text, json, long };
}

/**
 * Declares a view that depends on the data. Each view it chooses is only shown data of its own
 * shape.
 */
export function choiceView<Data>(of: (data: Data) => View<never>): View<Data> {
  return { kind: "choice", of } as unknown as View<Data>;
}
