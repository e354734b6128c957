/**
 * Runs a plan on rows of given values. Work is driven by what is wanted: a cell that an output needs is looked up in the online store if the plan says so,
 * and only if that misses are the op that computes it and that op's inputs wanted in turn. Ops start as soon as all their rows have their inputs, so that
 * independent ones run at the same time. Without asynchronous work nothing is awaited.
 */

import { ErrorCode } from "../../../../gen/svc/v1/error_pb.ts";
import { readableName } from "../../../domain/name.ts";
import type { FeatureValue } from "../../../domain/value.ts";
import { isDeadlinePassed } from "../../failure.ts";
import type { RowsWrite } from "../../stores/online/store.ts";
import { upstreamFailure, verdictOf } from "../ops/arguments.ts";
import { evaluate } from "../ops/expression-op.ts";
import { callPython } from "../ops/python-op.ts";
import { findRows } from "../ops/rows-op.ts";
import { callScan } from "../ops/scan-op.ts";
import { callSql } from "../ops/sql-op.ts";
import { computeTranslated } from "../ops/translated-op.ts";
import type { Plan, PlanFrame, PlanOp, PlanSlot } from "../plan/plan.ts";
import { type CellFailure, CellOrigin, CellState, Cells } from "./cells.ts";
import { FrameState, FrameStates } from "./frame-states.ts";
import { OpQueue } from "./op-queue.ts";
import type { QueryTime } from "./query-time.ts";
import { takeJoin, takeResults, takeRows, takeStored, takeStoredRows, takeVerdict } from "./results.ts";
import type { RowFound, RunContext } from "./run-context.ts";
import { Settlement } from "./settlement.ts";
import { type FoundOf, readStore } from "./store-access.ts";
import { type StoreFound, type StoreRead, StoreReads } from "./store-reads.ts";
import { Waiters } from "./waiters.ts";

/** How resolvers are called. */
const CALLS = { python: callPython, sql: callSql, scan: callScan };

/** One run of a plan. */
export class Execution {
  readonly cells: Cells;
  /** Runs of child rows. */
  readonly children: Execution[] = [];
  /** Rows of has-many relations that were found and are to be stored. */
  readonly foundRows: RowsWrite[] = [];
  readonly #settlement: Settlement;
  readonly #wanted: number[] = [];
  readonly #frames: FrameStates;
  readonly #queue: OpQueue;
  readonly #reads = new StoreReads();
  /** Cells that wait for a frame's row, and for its key, by frame and row. */
  readonly #frameWaiters = new Waiters();
  readonly #keyWaiters = new Waiters();
  /** Cells that wait for what a source of their class says of their row, by frame and row. */
  readonly #rowWaiters = new Waiters();
  #running = 0;
  #over = false;
  #finish: () => void = () => {};
  #abort: (reason: unknown) => void = () => {};

  constructor(
    readonly plan: Plan,
    readonly rows: number,
    readonly context: RunContext,
    /** The time of each row; undefined = all have the query's. */
    readonly times?: readonly QueryTime[],
  ) {
    this.cells = new Cells(plan.slots.length, rows);
    this.#settlement = new Settlement(
      plan,
      this.cells,
      (row) => this.timeOf(row).ms,
      (slot, row) => this.#notify(slot, row),
    );
    this.#frames = new FrameStates(plan, rows);
    this.#queue = new OpQueue(plan.ops, rows);
  }

  /** The time that a row is answered as of. */
  timeOf(row: number): QueryTime {
    return this.times?.[row] ?? this.context.now;
  }

  /** The times of rows that are made of some of this run; undefined = all have the query's. */
  timesOf(rows: readonly number[]): readonly QueryTime[] | undefined {
    return this.times && rows.map((row) => this.timeOf(row));
  }

  /** The times of rows in microseconds since 1970; one for all when they have the query's. */
  microsOf(rows: readonly number[]): bigint | readonly bigint[] {
    return this.times ? rows.map((row) => this.timeOf(row).micros) : this.context.now.micros;
  }

  /** Failures that a default covered. */
  get covered(): readonly CellFailure[] {
    return this.children.length === 0
      ? this.#settlement.covered
      : [...this.#settlement.covered, ...this.children.flatMap((run) => run.covered)];
  }

  /**
   * Settles every output.
   * @param columns for each given slot of the plan, a value per row
   * @param failures cells of given slots that have no value, and why
   * @returns a promise only when something has to be waited for
   */
  run(columns: readonly (readonly FeatureValue[])[], failures?: ReadonlyMap<number, CellFailure>): undefined | Promise<void> {
    const { plan, rows, cells } = this;
    for (let position = 0; position < plan.givenSlots.length; position++)
      for (let row = 0; row < rows; row++) {
        const cell = (plan.givenSlots[position] as number) * rows + row;
        const failure = failures?.get(cell);
        if (failure) {
          cells.failures[cell] = failure;
          cells.state[cell] = CellState.FAILED;
        } else cells.settle(cell, columns[position]?.[row] ?? null, CellOrigin.GIVEN, this.timeOf(row).ms);
      }
    for (const { slot } of plan.outputs) for (let row = 0; slot >= 0 && row < rows; row++) this.#want(slot * rows + row);
    this.#drain();
    if (this.#running > 0) return this.#wait();
    this.#conclude();
    return undefined;
  }

  #wait(): Promise<void> {
    const { signal } = this.context;
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const leave = () => this.#cancel();
    this.#finish = resolve;
    this.#abort = reject;
    if (signal?.aborted) leave();
    else signal?.addEventListener("abort", leave, { once: true });
    return signal ? promise.finally(() => signal.removeEventListener("abort", leave)) : promise;
  }

  #want(cell: number): void {
    if (this.cells.state[cell] !== CellState.IDLE) return;
    this.cells.state[cell] = CellState.WAITING;
    this.#wanted.push(cell);
  }

  #drain(): void {
    do {
      for (let cell = this.#wanted.pop(); cell !== undefined; cell = this.#wanted.pop()) this.#begin(cell);
    } while (this.#readStore() || this.#startOps());
  }

  /** Goes as far as possible with a wanted cell. */
  #begin(cell: number): void {
    if (this.cells.settled(cell)) return;
    const row = cell % this.rows;
    const slot = this.#slotOf(cell);
    const frame = this.plan.frames[slot.frame] as PlanFrame;
    if (this.#frames.get(frame.id, row) === FrameState.IDLE) this.#enterFrame(frame, row);
    const state = this.#frames.get(frame.id, row);
    if (state === FrameState.WAITING) this.#frameWaiters.add(frame.id * this.rows + row, cell);
    else if (state === FrameState.ABSENT) this.#settlement.absent(cell, slot, row);
    else if (state === FrameState.FAILED) {
      const cause = this.#frames.failure(frame.id, row);
      this.#settlement.fail(cell, slot, row, upstreamFailure(slot.path, cause?.path ?? frame.path, cause));
    } else if (slot.needsRow && !this.#isThere(cell, slot, frame, row)) return;
    else if (slot.readMs === 0 || !this.#lookUp(cell, slot, frame, row)) this.#compute(cell, slot, row);
  }

  /** Whether the row of a cell exists. Where that is not known yet the cell waits; where it does not, the cell is settled. */
  #isThere(cell: number, slot: PlanSlot, frame: PlanFrame, row: number): boolean {
    if (this.#frames.rowState(frame.id, row) === FrameState.IDLE) this.#seekRow(frame, row);
    const state = this.#frames.rowState(frame.id, row);
    if (state === FrameState.PRESENT) return true;
    if (state === FrameState.WAITING) this.#rowWaiters.add(frame.id * this.rows + row, cell);
    else if (state === FrameState.ABSENT) this.#settlement.absent(cell, slot, row);
    else {
      const cause = this.#frames.rowFailure(frame.id, row);
      this.#settlement.fail(cell, slot, row, upstreamFailure(slot.path, cause?.path ?? frame.path, cause));
    }
    return false;
  }

  /** Asks the ops that tell whether a row exists, one after another. */
  #seekRow(frame: PlanFrame, row: number): void {
    const next = this.plan.ops[this.#frames.seek(frame, row, this.cells) ?? -1];
    if (next) this.#wantOp(next, row);
    else this.#release(this.#rowWaiters, frame.id * this.rows + row);
  }

  /** An op that looks rows up has told which of them exist. */
  #tellRows(op: PlanOp, rows: readonly number[], found: readonly RowFound[]): void {
    const frame = this.plan.frames[op.frame] as PlanFrame;
    if (!frame.rowOps.includes(op.id)) return;
    for (const [at, row] of rows.entries()) {
      this.#frames.tell(op.id, row, found[at] as RowFound);
      if (this.#frames.rowState(frame.id, row) === FrameState.WAITING) this.#seekRow(frame, row);
    }
  }

  /** Queues a read of the online store, or waits for the key to read by; false when the key has no value. */
  #lookUp(cell: number, slot: PlanSlot, frame: PlanFrame, row: number): boolean {
    const key = frame.keySlot * this.rows + row;
    this.#want(key);
    if (!this.cells.settled(key)) {
      this.#keyWaiters.add(frame.id * this.rows + row, cell);
      return true;
    }
    if (this.cells.state[key] !== CellState.OK || this.cells.values[key] === null) return false;
    this.#reads.add(slot, frame, cell);
    return true;
  }

  /** Has a cell computed, the store having nothing for it. */
  #compute(cell: number, slot: PlanSlot, row: number): void {
    const op = this.plan.ops[slot.op];
    if (op) {
      this.#wantOp(op, row);
      return;
    }
    const { defaultValue } = slot.feature;
    if (defaultValue !== undefined) {
      this.#settlement.value(cell, slot, row, defaultValue, CellOrigin.DEFAULT, this.timeOf(row).ms);
      return;
    }
    this.#settlement.fail(cell, slot, row, {
      code: ErrorCode.RESOLVER_NOT_FOUND,
      message: `${readableName(slot.path)} is not in the online store, and no resolver can produce it from the inputs`,
      path: slot.path,
      resolver: "",
    });
  }

  #enterFrame(frame: PlanFrame, row: number): void {
    const missing = this.#wantAll(frame.gateSlots, row);
    this.#frames.wait(frame.id, row, missing);
    if (missing === 0) this.#frames.decide(frame, row, this.cells);
  }

  #wantOp(op: PlanOp, row: number): void {
    if (this.#queue.claim(op.id, row)) this.#queue.queue(op.id, row, this.#wantAll(op.inputSlots, row));
  }

  /** Wants slots for a row; gives how many of them are not settled. */
  #wantAll(slots: readonly number[], row: number): number {
    let missing = 0;
    for (const slot of slots) {
      const cell = slot * this.rows + row;
      this.#want(cell);
      if (!this.cells.settled(cell)) missing++;
    }
    return missing;
  }

  /** Reads what is queued from the online store; false when nothing is. */
  #readStore(): boolean {
    const reads = this.#reads.take();
    if (reads.length === 0) return false;
    for (const { frame, cells } of reads) this.context.observer?.readBegan(this, frame, cells);
    const reading = readStore(this, reads);
    if (reading instanceof Promise) this.#follow(reading, (foundOf) => this.#takeReads(reads, foundOf));
    else this.#takeReads(reads, reading);
    return true;
  }

  /** Takes what the store had for each read, in their order. */
  #takeReads(reads: readonly StoreRead[], foundOf: FoundOf): void {
    for (let place = 0; place < reads.length; place++) {
      const read = reads[place] as StoreRead;
      const found = foundOf(place);
      if (found instanceof Promise) this.#follow(found, (served) => this.#takeStored(read, served));
      else this.#takeStored(read, found);
    }
  }

  /** Settles what the store had, and has the rest computed. */
  #takeStored({ frame, cells }: StoreRead, found: StoreFound): void {
    if ("missed" in found) {
      if (found.found) takeStoredRows(this.#settlement, found.found);
    } else takeStored(this.#settlement, cells, found);
    this.context.observer?.readEnded(this, frame, cells);
    for (const cell of cells) if (!this.cells.settled(cell)) this.#compute(cell, this.#slotOf(cell), cell % this.rows);
  }

  #startOps(): boolean {
    let any = false;
    for (let next = this.#queue.next(); next; next = this.#queue.next()) {
      any = true;
      this.#start(next.op, next.rows);
    }
    return any;
  }

  #start(op: PlanOp, rows: readonly number[]): void {
    const ready: number[] = [];
    for (const row of rows) {
      const verdict = verdictOf(this, op, row);
      if (verdict === "run") ready.push(row);
      else for (const id of op.outputs) takeVerdict(this.#settlement, id, row, verdict);
    }
    if (ready.length === 0) return;
    this.context.observer?.opBegan(this, op, ready);
    if (op.kind === "join") this.#take(op, ready, takeJoin, undefined);
    else if (op.kind === "expression") this.#take(op, ready, takeResults, evaluate(this, op, ready));
    else if (op.kind === "rows") {
      const found = findRows(this, op, ready);
      if (found instanceof Promise) this.#follow(found, (results) => this.#take(op, ready, takeRows, results));
      else this.#take(op, ready, takeRows, found);
    } else if (op.kind === "translated") {
      const computed = computeTranslated(this, op, ready);
      if (computed instanceof Promise) this.#follow(computed, (results) => this.#take(op, ready, takeResults, results));
      else this.#take(op, ready, takeResults, computed);
    } else
      this.#follow(CALLS[op.kind](this, op, ready), (results) => {
        this.#take(op, ready, takeResults, results);
        if (results.found) this.#tellRows(op, ready, results.found);
      });
  }

  /** Settles what an op gave. */
  #take<T>(
    op: PlanOp,
    rows: readonly number[],
    settle: (settlement: Settlement, op: PlanOp, rows: readonly number[], results: T) => void,
    results: T,
  ): void {
    settle(this.#settlement, op, rows, results);
    this.context.observer?.opEnded(this, op, rows);
  }

  /** Tells whoever waits for a cell that it is settled. */
  #notify(slot: PlanSlot, row: number): void {
    for (const op of slot.takers) this.#queue.inputSettled(op, row);
    for (const id of slot.gates)
      if (this.#frames.gateSettled(id, row)) {
        this.#frames.decide(this.plan.frames[id] as PlanFrame, row, this.cells);
        this.#release(this.#frameWaiters, id * this.rows + row);
      }
    if (slot.isKey) this.#release(this.#keyWaiters, slot.frame * this.rows + row);
  }

  #release(waiters: Waiters, at: number): void {
    for (const cell of waiters.take(at)) this.#wanted.push(cell);
  }

  #slotOf(cell: number): PlanSlot {
    return this.plan.slots[Math.floor(cell / this.rows)] as PlanSlot;
  }

  /** Goes on when asynchronous work ends. The work itself never rejects but by a fault of ours. */
  #follow<T>(work: Promise<T>, take: (result: T) => void): void {
    this.#running++;
    work
      .then((result) => {
        this.#running--;
        if (this.#over) return;
        take(result);
        this.#drain();
        if (this.#running > 0) return;
        this.#conclude();
        this.#over = true;
        this.#finish();
      })
      .catch((error: unknown) => {
        this.#over = true;
        this.#abort(error);
      });
  }

  /** The caller went away, or has no more time: what is not settled fails. */
  #cancel(): void {
    if (this.#over) return;
    this.#over = true;
    const [code, why] = isDeadlinePassed(this.context.signal?.reason)
      ? [ErrorCode.DEADLINE_EXCEEDED, "the caller's deadline passed"]
      : [ErrorCode.CANCELLED, "the caller went away"];
    this.#settlement.rest((path) => ({ code, message: `${why} before the value was there`, path, resolver: "" }));
    this.#finish();
  }

  #conclude(): void {
    this.#settlement.rest((path) => {
      throw new Error(`the plan stalled: ${path} was never settled`);
    });
  }
}
