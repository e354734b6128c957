/** Streams whose body is a statement over the messages that came together. */

import type { MessageStatement, StreamResolver } from "../../../gen/svc/v1/graph_pb.ts";
import type { DataType } from "../../../gen/svc/v1/value_pb.ts";
import type { FeatureValue } from "../../domain/value.ts";
import type { ScalarInfo } from "../query/graph/index-types.ts";
import { type AskedStatement, type TableChunk, type TableEngine, TableError } from "../tables/engine.ts";
import { CallBroken, fieldsReader, type GivenRows, type Giver, MAX_ROWS } from "./given.ts";

/** Most bytes of the rows that messages which came together give. */
const MAX_BYTES = 64 * 1_048_576;

/** The engine, as far as streams use it. */
export type StatementEngine = Pick<TableEngine, "ask">;

/** Has the table engine compute the rows of messages. */
export function statementGiver(
  { fqn }: StreamResolver,
  { message, sql, table }: MessageStatement,
  {
    engine,
    outputs,
    timeoutMs,
  }: { readonly engine: () => Promise<StatementEngine>; readonly outputs: readonly ScalarInfo[]; readonly timeoutMs: number },
): Giver<GivenRows> {
  if (!message) throw new Error("a statement without a message");
  const read = fieldsReader(message);
  const columns = message.features.flatMap(({ kind, name }) =>
    kind.case === "scalar" && kind.value.dtype ? [{ name, dtype: kind.value.dtype }] : [],
  );
  const answer = outputs.map(({ dtype, name }) => ({ name, dtype: dtype as DataType }));
  const asked: AskedStatement = { statement: sql, table, columns, answer };
  return async (messages, { signal }) => {
    const { fields, read: rows, refusals } = read(messages);
    const nothing = { refusals, skipped: new Set<number>(), counted: {}, rows: 0, columns: {}, failure: undefined };
    if (rows.length === 0) return nothing;
    const given: TableChunk = { rows: rows.length, columns: columns.map(({ name }) => fields.get(name) ?? []) };
    try {
      const found = await (await engine()).ask(asked, given, { limits: { rows: MAX_ROWS, bytes: MAX_BYTES, timeoutMs }, signal });
      const values: Record<string, readonly FeatureValue[]> = {};
      for (const [at, { fqn: output }] of outputs.entries()) values[output] = found.columns[at] ?? [];
      return { ...nothing, rows: found.rows, columns: values };
    } catch (error) {
      if (!(error instanceof TableError)) throw error;
      const isOfMessages = error.code === "refused" || (error.code === "exhausted" && rows.length === 1);
      if (!isOfMessages && error.code === "exhausted") throw new CallBroken(error.message);
      if (!isOfMessages) throw error;
      const reason = `the statement of '${fqn}' failed: ${error.message}`;
      return { ...nothing, failure: { stage: "resolver", way: `statement ${wayOf(error.message)}`, reason } };
    }
  };
}

/** The same for failures that differ by their values alone. */
function wayOf(message: string): string {
  return message.replaceAll(/'[^']*'|"[^"]*"|\d+/g, "?").slice(0, 200);
}
