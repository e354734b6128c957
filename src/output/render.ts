/**
 * The only module that writes to stdout: a command's data and its view become a table, text, or
 * JSON.
 */

import type { ColorChoice } from "../context/flags.ts";
import type { Io } from "../context/io.ts";
import { OutputClosedError } from "../errors/cli-error.ts";
import { type JsonWriter, plainJson } from "./json-writer.ts";
import { createStyle } from "./style.ts";
import { TableLayout } from "./table.ts";
import type { BytesView, Style, TableView, TextView, View } from "./view.ts";

/** Options of rendering items of type `Data`. */
export interface RenderOptions<Data = never> {
  readonly json: boolean;
  /** How JSON is written; default whole. */
  readonly writer?: JsonWriter;
  readonly color: ColorChoice;
  /** Whether a terminal shows hyperlinks. */
  readonly links?: boolean;
  /** Epoch milliseconds, for ages. */
  readonly now?: number;
  /** Stops a stream between two items. */
  readonly signal?: AbortSignal;
  /**
   * Whether a stream may end behind an item because nobody reads stdout any more; up to there it
   * goes on unseen. Default: behind any.
   */
  readonly mayEndAfter?: (item: Data) => boolean;
  /**
   * Shows a text in a pager. Resolves with false, showing nothing, when there is no terminal or the
   * user wants no pager.
   */
  readonly page?: (text: string) => Promise<boolean>;
}

/** Whether the data is a stream of items. */
export function isStream(data: unknown): data is AsyncIterable<unknown> {
  return data !== null && typeof data === "object" && Symbol.asyncIterator in data;
}

/**
 * Writes data to stdout through its view. Rejects with the system's error when stdout cannot be
 * written.
 */
export async function render<Data>(
  data: Data | AsyncIterable<Data>,
  view: View<Data>,
  io: Pick<Io, "writeOut" | "writeErr" | "stdoutIsTTY" | "width" | "height">,
  options: RenderOptions<Data>,
): Promise<void> {
  const chosenFor = (item: Data) => (view.kind === "choice" ? view.of(item) : view);
  const whole = isStream(data) ? undefined : chosenFor(data);
  if (whole?.kind === "bytes") return io.writeOut(whole.bytes(data as Data));
  const viewOf = chosenFor as (item: Data) => Exclude<ReturnType<typeof chosenFor>, BytesView<Data>>;
  const toJson = async (item: Data): Promise<unknown> => (await viewOf(item).json?.(item)) ?? item;
  if (options.json) {
    const writer = options.writer ?? plainJson;
    if (!isStream(data)) return io.writeOut(await writer.document(await toJson(data as Data)));
    return showEach(data as AsyncIterable<Data>, async (item) => io.writeOut(await writer.line(await toJson(item))), options);
  }
  const isTTY = io.stdoutIsTTY;
  const style = await createStyle({
    isTTY,
    color: options.color,
    links: options.links === true,
    now: options.now,
    width: isTTY ? io.width : Number.POSITIVE_INFINITY,
  });
  const printers = new Map<unknown, (item: Data) => Promise<void>>();
  const show = (item: Data): Promise<void> => {
    const chosen = viewOf(item);
    const printer = printers.get(chosen) ?? createPrinter(chosen, style, io);
    printers.set(chosen, printer);
    return printer(item);
  };
  if (!isStream(data)) {
    if (!options.page || !isTTY || !viewOf(data as Data).long) return show(data as Data);
    const printed: string[] = [];
    const printer = createPrinter(viewOf(data as Data), style, { ...io, writeOut: async (text) => void printed.push(String(text)) });
    await printer(data as Data);
    const text = printed.join("");
    const lines = text.split("\n").length - 1;
    if (lines < io.height || !(await options.page(text))) await io.writeOut(text);
    return;
  }
  return showEach(data as AsyncIterable<Data>, show, options);
}

/**
 * Shows the items of a stream as they come. Rejects with OutputClosedError behind the item after
 * which it ended because nobody reads; a stream that went on to its end resolves.
 */
async function showEach<Data>(
  items: AsyncIterable<Data>,
  show: (item: Data) => Promise<void>,
  { mayEndAfter = () => true, signal }: Pick<RenderOptions<Data>, "mayEndAfter" | "signal">,
): Promise<void> {
  let closed: OutputClosedError | undefined;
  for await (const item of items) {
    if (!closed)
      await show(item).catch((error: unknown) => {
        if (!(error instanceof OutputClosedError)) throw error;
        closed = error;
      });
    if (closed && mayEndAfter(item)) throw closed;
    signal?.throwIfAborted();
  }
}

function createPrinter<Data>(
  view: TableView<Data, never> | TextView<Data>,
  style: Style,
  io: Pick<Io, "writeOut" | "writeErr">,
): (data: Data) => Promise<void> {
  if (view.kind === "text") return (data) => io.writeOut(endLine(view.text(data, style)));
  const table = view as unknown as TableView<Data, unknown>;
  const layout = new TableLayout(table.columns, style);
  return async (data) => {
    const rows = table.rows(data);
    await io.writeOut(endLine(table.before?.(data, style) ?? "") + layout.rows(rows) + endLine(table.after?.(data, style) ?? ""));
    if (rows.length === 0) io.writeErr(`No ${table.things} found.\n`);
  };
}

function endLine(text: string): string {
  return text === "" || text.endsWith("\n") ? text : `${text}\n`;
}
