/**
 * Views of the server's answers. A view names the fields that people see; `--json` shows all of
 * them, by the rule of `contract/message-json.ts`.
 */

import type { Message } from "@bufbuild/protobuf";
import type { Duration, Timestamp } from "@bufbuild/protobuf/wkt";
import { formatEnum, messageNamed } from "../contract/contract.ts";
import type { JsonException, JsonExceptions, MemberOf } from "../contract/message-json.ts";
import { formatDuration } from "../domain/duration.ts";
import { escapeControls } from "../domain/name.ts";
import { durationToMs } from "../domain/proto-time.ts";
import { type Fact, factLines } from "./facts.ts";
import { jsonLine } from "./json.ts";
import { timeText } from "./time.ts";
import { type Column, type Style, type TableView, tableView, textView, type View } from "./view.ts";

/**
 * A field's view: its header, which is absent when people do not see it, the text of its cell when
 * it differs from the JSON, whether one resource has no line of it while it is empty, and its
 * exception from the rule of JSON.
 */
export interface FieldView<M> extends Partial<Omit<Column<M>, "header">> {
  readonly header?: string;
  readonly ifAny?: boolean;
  readonly json?: JsonException<M>;
}

/**
 * The views of fields that people see, or whose JSON differs from the rule: a header, or a whole
 * view.
 */
export type FieldViews<M> = { readonly [K in MemberOf<M>]?: string | FieldView<M> };

/** The fields of an answer that contain messages. */
type RowsField<A> = { [K in MemberOf<A>]: A[K] extends readonly Message[] ? K : never }[MemberOf<A>];
type RowOf<A, F extends RowsField<A> = RowsField<A>> = A[F] extends readonly (infer R extends Message)[] ? R : never;

/** Options of a table of messages, beside its columns. */
export interface MessageTableOptions<A extends Message, F extends RowsField<A> = RowsField<A>>
  extends Partial<Pick<TableView<A, RowOf<A, F>>, "things" | "long" | "before" | "after">> {
  /** Columns at the right that are of no field; JSON does without them. */
  readonly more?: readonly Column<RowOf<A, F>>[];
  /** Fields of the answer beside the rows whose JSON differs from the rule. */
  readonly json?: JsonExceptions<A>;
}

/** The rule of JSON, loaded when JSON is asked for. */
const rule = () => import("../contract/message-json.ts");

/**
 * A table of the messages in one field of an answer, such as `branches`. An empty table shows `No
 * branches found.`
 */
export function messageTable<A extends Message, F extends RowsField<A> = RowsField<A>>(
  rows: F,
  fields: FieldViews<RowOf<A, F>>,
  options: MessageTableOptions<A, F> = {},
): View<A> {
  const { json, more = [], things = rows, ...others } = options;
  const rowsOf = (answer: A) => answer[rows] as unknown as readonly RowOf<A, F>[];
  const exceptions = exceptionsOf(fields);
  return tableView<A, RowOf<A, F>>({
    ...others,
    things,
    rows: rowsOf,
    columns: [...columnsOf(fields), ...more],
    json: async (answer) => {
      const { messageJson } = await rule();
      const listed = { [rows]: () => rowsOf(answer).map((row) => messageJson(row, exceptions)) };
      return messageJson(answer, { ...json, ...listed } as JsonExceptions<A>);
    },
  });
}

/** The fields of one message, one per line. */
export function messageFields<M extends Message>(fields: FieldViews<M>): View<M> {
  return resourceFields((message: M) => message, fields);
}

/** What stands below the fields of a resource, and beside them in the JSON. */
export interface Below<A> {
  readonly text: (answer: A, style: Style) => string;
  readonly json: (answer: A) => Readonly<Record<string, unknown>>;
}

/**
 * The fields of the resource in an answer, one per line; the JSON is that of the resource, and what
 * stands below.
 */
export function resourceFields<A, M extends Message>(
  resource: (answer: A) => M | undefined,
  fields: FieldViews<M>,
  below?: Below<A>,
): View<A> {
  const columns = columnsOf(fields);
  const optional = new Set(viewsOf(fields).flatMap(([, { header, ifAny }]) => (ifAny ? [header] : [])));
  const exceptions = exceptionsOf(fields);
  const shown = <T>(answer: A, show: (message: M) => T): T | undefined => {
    const message = resource(answer);
    return message && show(message);
  };
  return textView(
    (answer: A, style) => {
      const facts = (message: M) =>
        columns.map((column) => fact(column, message, style)).filter(([name, text]) => text || !optional.has(name));
      const lines = shown(answer, (message) => factLines(facts(message))) ?? "";
      return below ? `${lines}\n${below.text(answer, style)}`.trimEnd() : lines;
    },
    async (answer) => {
      const { messageJson } = await rule();
      return shown(answer, (message) => ({ ...messageJson(message, exceptions), ...below?.json(answer) })) ?? null;
    },
  );
}

/**
 * The fields of the resource in an answer, and below them facts of the rest of the answer, of which
 * a text may have lines; the JSON is that of the whole answer.
 */
export function answerFields<A extends Message, M extends Message>(
  resource: (answer: A) => M | undefined,
  fields: FieldViews<M>,
  more: (answer: A) => readonly Fact[],
): View<A> {
  const columns = columnsOf(fields);
  return textView(
    (answer: A, style) => {
      const message = resource(answer);
      return factLines([...(message ? columns.map((column) => fact(column, message, style)) : []), ...more(answer)]);
    },
    async (answer) => (await rule()).messageJson(answer),
  );
}

function fact<M extends Message>({ header, cell, style: mark }: Column<M>, message: M, style: Style): Fact {
  const text = escapeControls(cell(message, style));
  return [header, mark?.(text, style, message) ?? text];
}

function columnsOf<M extends Message>(fields: FieldViews<M>): Column<M>[] {
  return viewsOf(fields).flatMap(([name, { header, ifAny: _ifAny, json: _json, ...view }]) =>
    header === undefined ? [] : [{ cell: (message: M) => cellText(message, name), ...view, header }],
  );
}

/**
 * The text of a member's cell: times to the second, durations with units, lists separated by
 * commas; empty for an unset or false value.
 */
function cellText<M extends Message>(message: M, name: MemberOf<M>): string {
  const type = messageNamed(message.$typeName).fields.find(({ localName }) => localName === name)?.enum?.typeName;
  const value: unknown = message[name];
  return Array.isArray(value) ? value.map((item) => valueText(item, type)).join(", ") : valueText(value, type);
}

function valueText(value: unknown, enumType: string | undefined): string {
  if (enumType !== undefined && typeof value === "number") return String(formatEnum(enumType, value) ?? "");
  if (value === undefined || value === false) return "";
  if (value === true) return "✓";
  if (typeof value !== "object" || value === null) return String(value);
  if (isOfType<Timestamp>(value, "google.protobuf.Timestamp")) return timeText(value);
  return isOfType<Duration>(value, "google.protobuf.Duration") ? formatDuration(durationToMs(value)) : jsonLine(value);
}

function isOfType<T extends Message>(value: object, typeName: T["$typeName"]): value is T {
  return "$typeName" in value && value.$typeName === typeName;
}

/** The exceptions of fields from the rule of JSON. */
export function exceptionsOf<M>(fields: FieldViews<M>): JsonExceptions<M> {
  return Object.fromEntries(viewsOf(fields).map(([name, { json }]) => [name, json])) as JsonExceptions<M>;
}

function viewsOf<M>(fields: FieldViews<M>): [name: MemberOf<M>, view: FieldView<M>][] {
  return Object.entries(fields).map(([name, view]) => [
    name as MemberOf<M>,
    typeof view === "string" ? { header: view } : (view as FieldView<M>),
  ]);
}
