/** Batches of records for the thread that writes them. */

import type { LogComponent, LogLevel } from "../../../domain/logs.ts";
import { emptyTexts, type PackedRecords, RecordReader, RecordWriter } from "../../thread/records.ts";
import type { LogKind, LogRecord, NewRecord } from "./store.ts";

/** Texts that few records have, by their columns. */
const SELDOM = [
  ...(["environmentId", "deploymentId", "branch", "resolver", "queryName", "resourceGroup", "podName", "app", "logger"] as const),
  ...(["operationId", "correlationId", "traceId", "spanId"] as const),
] as const;
const NO_TEXTS = emptyTexts(SELDOM);
/** Columns of the texts that all records have, and of the attributes. */
const LEVEL = SELDOM.length;
const COMPONENT = LEVEL + 1;
const MESSAGE = LEVEL + 2;
const ATTRIBUTES = LEVEL + 3;
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
    writer.text(LEVEL, record.level);
    writer.text(COMPONENT, record.component);
    writer.text(MESSAGE, record.message);
    // In the order of SELDOM.
    writer.given(0, record.environmentId);
    writer.given(1, record.deploymentId);
    writer.given(2, record.branch);
    writer.given(3, record.resolver);
    writer.given(4, record.queryName);
    writer.given(5, record.resourceGroup);
    writer.given(6, record.podName);
    writer.given(7, record.app);
    writer.given(8, record.logger);
    writer.given(9, record.operationId);
    writer.given(10, record.correlationId);
    writer.given(11, record.traceId);
    writer.given(12, record.spanId);
    writer.endOfGiven();
    writer.attributes(ATTRIBUTES, record.attributes ?? NONE);
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
    const [at, level, component, message] = [reader.number(), reader.text(), reader.text(), reader.text()];
    const record: LogRecord = {
      ...{ at, level: level as LogLevel, component: component as LogComponent, message },
      ...reader.given(SELDOM, NO_TEXTS),
      attributes: reader.attributes(),
    };
    records[kindOf(record)].push(record);
  }
  return records;
}
