/** Rows of the online store in memory: recently read or written ones, and those not written yet. */

import { decodeStored, encodeStored, type FeatureValue } from "../../../domain/value.ts";
import { packedList, unpackedList } from "./packed-list.ts";
import type { StoredValue } from "./store.ts";

/** Estimated bytes of a cell beside its text: the objects, the map's slots, numbers. */
const CELL_BYTES = 160;
/** Estimated bytes of a row without cells. */
const ROW_BYTES = 240;
/** Most rows examined per eviction, so that none takes long. */
const LOOKS_PER_EVICTION = 256;

/** The expiry of a value that never expires. */
export const NEVER = Number.POSITIVE_INFINITY;

/** A value as the file has it: a packed list of numbers, else the text of `encodeStored`. */
export type Encoded = string | Uint8Array;

/** One feature of one row. */
export interface Cell {
  readonly row: Row;
  readonly featureId: number;
  /** The value; undefined when none is stored. */
  stored: StoredValue | undefined;
  /**
   * The encoded value of a list, struct or bytes: each read decodes its own copy, so that no caller
   * can change another's value.
   */
  encoded: Encoded | undefined;
  /** Epoch milliseconds from which on the value may be removed; Infinity = never. */
  expiresAt: number;
  /** Whether the file is known to hold nothing newer. Only such a cell answers a read. */
  certain: boolean;
  /** Whether it still has to be written to the file. */
  dirty: boolean;
  bytes: number;
}

/** One row: the features of a primary key. */
export interface Row {
  readonly id: string;
  readonly scope: string;
  readonly namespace: string;
  readonly key: string;
  readonly cells: Map<number, Cell>;
  /** Cells that are not written yet; such a row is never evicted. */
  dirty: number;
  /** Whether it was used since the clock hand last passed. */
  used: boolean;
  bytes: number;
}

/** The value of a cell for a caller. Values observed after `asOf` are hidden. */
export function readCell(cell: Cell, asOf: number): StoredValue | undefined {
  const { stored } = cell;
  if (stored === undefined || stored.observedAt > asOf) return undefined;
  if (cell.encoded === undefined) return stored;
  return { value: decoded(cell.encoded), observedAt: stored.observedAt, resolver: stored.resolver };
}

/** A cell's value for the file. */
export function encodedCell(cell: Cell): Encoded {
  return cell.encoded ?? encodeStored(cell.stored?.value ?? null);
}

/** The value that was encoded. */
export function decoded(encoded: Encoded): FeatureValue {
  return typeof encoded === "string" ? decodeStored(encoded) : unpackedList(encoded);
}

/** Stands for a packed value, which is not read before it is asked for. */
const PACKED: FeatureValue = [];

function readText(text: string): FeatureValue {
  const first = text.charCodeAt(0);
  return first === 0x7b || first === 0x5b ? decodeStored(text) : (JSON.parse(text) as FeatureValue);
}

/**
 * A bounded set of rows, evicted by second chance (the clock algorithm). One process owns the file,
 * so cached rows cannot be stale.
 */
export class RowCache {
  private readonly rows = new Map<string, Row>();
  private bytes = 0;
  private hand: Iterator<Row> = this.rows.values();

  /** @param maxBytes estimated bytes above which clean rows are evicted */
  constructor(private readonly maxBytes: number) {}

  /** Whether the memory in use is far above the bound, because unwritten rows cannot be evicted. */
  get isOverfull(): boolean {
    return this.bytes > this.maxBytes * 2;
  }

  /** The row if it is cached; marks it as used. */
  find(id: string): Row | undefined {
    const row = this.rows.get(id);
    if (row) row.used = true;
    return row;
  }

  /** The row if it is cached, without marking it as used. */
  peek(id: string): Row | undefined {
    return this.rows.get(id);
  }

  /** The row, created when it is not cached. */
  open(id: string, scope: string, namespace: string, key: string): Row {
    const known = this.find(id);
    if (known) return known;
    const row: Row = { id, scope, namespace, key, cells: new Map(), dirty: 0, used: false, bytes: ROW_BYTES };
    this.rows.set(id, row);
    this.bytes += ROW_BYTES;
    return row;
  }

  /** Sets a cell from a value in memory. */
  assign(row: Row, featureId: number, { value, observedAt, resolver }: StoredValue, expiresAt = NEVER): Cell {
    const composite = typeof value === "object" && value !== null;
    const encoded = composite ? (packedList(value) ?? encodeStored(value)) : undefined;
    return this.set(row, featureId, { value: composite ? null : value, observedAt, resolver }, encoded, expiresAt);
  }

  /** Sets a cell from the file. */
  assignStored(row: Row, featureId: number, encoded: Encoded, observedAt: number, resolver: string, expiresAt: number): Cell {
    const value = typeof encoded === "string" ? readText(encoded) : PACKED;
    if (typeof value === "object" && value !== null)
      return this.set(row, featureId, { value: null, observedAt, resolver }, encoded, expiresAt);
    return this.set(row, featureId, { value, observedAt, resolver }, undefined, expiresAt);
  }

  /** Sets a cell for which the file has no value. */
  assignAbsent(row: Row, featureId: number): Cell {
    return this.set(row, featureId, undefined, undefined, NEVER);
  }

  /** Removes one cell. */
  forget(cell: Cell): void {
    const { row } = cell;
    if (row.cells.get(cell.featureId) !== cell) return;
    row.cells.delete(cell.featureId);
    this.grow(row, -cell.bytes);
  }

  /** Removes every row. */
  clear(): void {
    this.rows.clear();
    this.hand = this.rows.values();
    this.bytes = 0;
  }

  /**
   * Evicts rows while the cache is above its bound, examining a limited number per call. Rows with
   * unwritten cells stay.
   */
  evict(): void {
    for (let looks = 0; this.bytes > this.maxBytes && looks < LOOKS_PER_EVICTION; looks++) {
      let next = this.hand.next();
      if (next.done) {
        this.hand = this.rows.values();
        next = this.hand.next();
        if (next.done) return;
      }
      const row = next.value;
      if (row.used || row.dirty > 0) row.used = false;
      else {
        this.rows.delete(row.id);
        this.bytes -= row.bytes;
      }
    }
  }

  private set(row: Row, featureId: number, stored: StoredValue | undefined, encoded: Encoded | undefined, expiresAt: number): Cell {
    const text = encoded ?? stored?.value;
    const size = CELL_BYTES + (typeof text === "string" ? 2 * text.length : text instanceof Uint8Array ? text.length : 0);
    const known = row.cells.get(featureId);
    if (known) {
      known.stored = stored;
      known.encoded = encoded;
      known.expiresAt = expiresAt;
      this.grow(row, size - known.bytes);
      known.bytes = size;
      return known;
    }
    const cell: Cell = { row, featureId, stored, encoded, expiresAt, certain: false, dirty: false, bytes: size };
    row.cells.set(featureId, cell);
    this.grow(row, size);
    return cell;
  }

  private grow(row: Row, bytes: number): void {
    row.bytes += bytes;
    this.bytes += bytes;
  }
}
