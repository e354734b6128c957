/** Batches of records for the thread that writes them. */

import type { LogComponent, LogLevel } from "../../../domain/logs.ts";
import { type PackedRecords, RecordReader, RecordWriter } from "../../thread/records.ts";
import type { LogKind, LogRecord, NewRecord } from "./store.ts";

/** Texts of a record beside its attributes. */
const TEXTS = 16;
const NONE = {};

/** The kind of a record. */
export function kindOf({ component }: Pick<NewRecord, "component">): LogKind {
  return component === "gateway" ? "request" : "line";
}

/** Collects records into batches. */
export class LogGatherer {
  readonly #writer = new RecordWriter();
  #kinds = new Set<LogKind>();
  #size = 0;

  /** Number of records gathered. */
  get size(): number {
    return this.#size;
  }

  /** Adds a record; what it does not name is empty. */
  add(record: NewRecord): void {
    const writer = this.#writer;
    writer.number(record.at);
    writer.text(0, record.level);
    writer.text(1, record.component);
    writer.text(2, record.environmentId ?? "");
    writer.text(3, record.deploymentId ?? "");
    writer.text(4, record.branch ?? "");
    writer.text(5, record.resolver ?? "");
    writer.text(6, record.queryName ?? "");
    writer.text(7, record.resourceGroup ?? "");
    writer.text(8, record.podName ?? "");
    writer.text(9, record.app ?? "");
    writer.text(10, record.logger ?? "");
    writer.text(11, record.operationId ?? "");
    writer.text(12, record.correlationId ?? "");
    writer.text(13, record.traceId ?? "");
    writer.text(14, record.spanId ?? "");
    writer.text(15, record.message);
    writer.attributes(TEXTS, record.attributes ?? NONE);
    this.#kinds.add(kindOf(record));
    this.#size++;
  }

  /** The collected records as a batch, with their number and kinds. The next one begins. */
  take(): { readonly packed: PackedRecords; readonly size: number; readonly kinds: ReadonlySet<LogKind> } {
    const taken = { packed: this.#writer.take(), size: this.#size, kinds: this.#kinds };
    this.#kinds = new Set();
    this.#size = 0;
    return taken;
  }
}

/** The records of a batch by their kind, in the order in which they were added. */
export function recordsOf(packed: PackedRecords): Readonly<Record<LogKind, readonly LogRecord[]>> {
  const records: Record<LogKind, LogRecord[]> = { line: [], request: [] };
  for (const reader = new RecordReader(packed); !reader.isAtEnd; ) {
    const record: LogRecord = {
      at: reader.number(),
      level: reader.text() as LogLevel,
      component: reader.text() as LogComponent,
      environmentId: reader.text(),
      deploymentId: reader.text(),
      branch: reader.text(),
      resolver: reader.text(),
      queryName: reader.text(),
      resourceGroup: reader.text(),
      podName: reader.text(),
      app: reader.text(),
      logger: reader.text(),
      operationId: reader.text(),
      correlationId: reader.text(),
      traceId: reader.text(),
      spanId: reader.text(),
      message: reader.text(),
      attributes: reader.attributes(),
    };
    records[kindOf(record)].push(record);
  }
  return records;
}
