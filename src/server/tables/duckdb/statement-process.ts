/** The process in which one statement of a person is answered. */

import { serveProcess } from "../../thread/serve-process.ts";
import { FrameReader, FrameWriter } from "../column-frame.ts";
import { writeChunk } from "./chunk-vectors.ts";
import { DatabaseProcess, type DatabaseSettings, openDatabase } from "./database-process.ts";
import { quoteText } from "./sql-type.ts";
import { type StatementNames, statementNames } from "./statement-names.ts";

/** A database that also reads statements without running them. */
export class StatementProcess extends DatabaseProcess {
  /** The tables that a statement names, or why it cannot be asked. */
  async names(id: number, statement: string): Promise<StatementNames> {
    const sql = `SELECT CAST(json_serialize_sql(${quoteText(statement)}) AS VARCHAR)`;
    const result = await this.library.query(this.connection(id), sql);
    const chunk = await this.library.fetch_chunk(result);
    if (!chunk) throw new Error("the parser said nothing");
    const into = new FrameWriter();
    writeChunk(this.library, chunk, [{ kind: "text" }], into);
    const from = new FrameReader(into.written);
    from.nulls(1);
    const [, length = 0] = from.words(2);
    return statementNames(Buffer.from(from.part(length)).toString());
  }
}

/** Serves a database for one statement to the process that started this one, until that ends. */
export function serveStatement(): Promise<void> {
  return serveProcess<StatementProcess, DatabaseSettings>(async (settings) => new StatementProcess(...(await openDatabase(settings))));
}
