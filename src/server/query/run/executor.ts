/**
 * Runs a plan on rows of given values. Work is driven by demand: a cell that an output needs is
 * looked up in the online store if the plan says so, and only if that misses are the op that
 * computes it and that op's inputs wanted in turn. Ops start as soon as all their rows have their
 * inputs, so that independent ones run at the same time. Without asynchronous work nothing is
 * awaited.
 */

import { ErrorCode } from "../../../../gen/svc/v1/error_pb.ts";
import { readableName } from "../../../domain/name.ts";
import type { FeatureValue } from "../../../domain/value.ts";
import { isDeadlinePassed } from "../../failure.ts";
import type { RowsWrite } from "../../stores/online/store.ts";
import type { Op } from "../ops/op.ts";
import { OPS } from "../ops/registry.ts";
import { type CellId, FIRST_ROW, type FrameRow, type Row, type SlotId } from "../plan/ids.ts";
import type { Plan, PlanFrame, PlanOp, PlanSlot } from "../plan/plan.ts";
import { noConditionTrue } from "../plan/plan-reasons.ts";
import { type Awaitable, isPending } from "./awaitable.ts";
import { type CellFailure, CellOrigin, Cells } from "./cells.ts";
import { openCondition, providerOf } from "./choice.ts";
import { FrameState, FrameStates } from "./frame-states.ts";
import { upstreamFailure } from "./op-inputs.ts";
import { OpQueue } from "./op-queue.ts";
import type { QueryTime } from "./query-time.ts";
import type { GivenFailures, RowFound, Run, RunContext } from "./run.ts";
import { settleRows, settleStored, settleVerdict } from "./settle-results.ts";
import { Settlement } from "./settlement.ts";
import { type FoundOf, readStore } from "./store-access.ts";
import { type StoreFound, type StoreRead, StoreReads } from "./store-reads.ts";
import { Awaited, Waiters } from "./waiters.ts";

/** The executor: one run of a plan. */
export class Execution implements Run {
  readonly cells: Cells;
  readonly children: Execution[] = [];
  readonly foundRows: RowsWrite[] = [];
  readonly #settlement: Settlement;
  /** Rows that are left out because no condition is true for them. */
  readonly leftOut = new Set<Row>();
  readonly #wanted: CellId[] = [];
  /** Cells of which a condition has become known, on which depends what computes them. */
  readonly #decided: CellId[] = [];
  readonly #frames: FrameStates;
  /** Made for the first op that is wanted: where the store has all values none is. */
  #queue: OpQueue | undefined;
  readonly #reads = new StoreReads();
  readonly #waiters = new Waiters();
  /** Calls that are under way. */
  #running = 0;
  #over = false;
  /** The promise that `execute` returned; undefined while nothing is awaited. */
  #ended: PromiseWithResolvers<void> | undefined;

  /** @param times of each row; undefined = all have the query's */
  constructor(
    readonly plan: Plan,
    readonly rows: number,
    readonly context: RunContext,
    readonly times: readonly QueryTime[] | undefined = undefined,
  ) {
    this.cells = new Cells(plan.slots.length, rows);
    this.#settlement = new Settlement(this, (slot, row) => this.#notify(slot, row));
    this.#frames = new FrameStates(plan, rows);
  }

  timeOf(row: Row): QueryTime {
    return this.times?.[row] ?? this.context.now;
  }

  timesOf(rows: readonly Row[]): readonly QueryTime[] | undefined {
    return this.times && rows.map((row) => this.timeOf(row));
  }

  microsOf(rows: readonly Row[]): bigint | readonly bigint[] {
    return this.times ? rows.map((row) => this.timeOf(row).micros) : this.context.now.micros;
  }

  get covered(): readonly CellFailure[] {
    return this.children.length === 0
      ? this.#settlement.covered
      : [...this.#settlement.covered, ...this.children.flatMap((run) => run.covered)];
  }

  nested(op: PlanOp, plan: Plan, rows: number, times: readonly QueryTime[] | undefined): Run {
    const child = new Execution(plan, rows, this.context, times);
    this.children.push(child);
    this.context.observer?.nested(child, op);
    return child;
  }

  execute(columns: readonly (readonly FeatureValue[])[], failures?: GivenFailures): Awaitable<void> {
    this.#give(columns, failures);
    for (const { slot } of this.plan.outputs)
      if (slot !== undefined) for (let row = FIRST_ROW; row < this.rows; row++) this.#want(this.cells.at(slot, row));
    this.#drain();
    if (this.#running > 0) return this.#wait();
    this.#conclude();
  }

  /** Settles the given slots. */
  #give(columns: readonly (readonly FeatureValue[])[], failures: GivenFailures | undefined): void {
    const { plan, rows, cells } = this;
    for (let position = 0; position < plan.givenSlots.length; position++) {
      const slot = plan.givenSlots[position] as SlotId;
      const column = columns[position];
      const failed = failures?.get(slot);
      for (let row = FIRST_ROW; row < rows; row++) {
        const cell = cells.at(slot, row);
        const failure = failed?.get(row);
        if (failure) cells.fail(cell, failure);
        else cells.settle(cell, column?.[row] ?? null, CellOrigin.GIVEN, this.timeOf(row).ms);
      }
    }
  }

  #wait(): Promise<void> {
    const { signal } = this.context;
    this.#ended = Promise.withResolvers<void>();
    const { promise } = this.#ended;
    const leave = () => this.#cancel();
    if (signal?.aborted) leave();
    else signal?.addEventListener("abort", leave, { once: true });
    return signal ? promise.finally(() => signal.removeEventListener("abort", leave)) : promise;
  }

  #want(cell: CellId): void {
    if (this.cells.want(cell)) this.#wanted.push(cell);
  }

  #drain(): void {
    do {
      for (let cell = this.#wanted.pop(); cell !== undefined; cell = this.#wanted.pop()) this.#begin(cell);
      for (let cell = this.#decided.pop(); cell !== undefined; cell = this.#decided.pop())
        if (!this.cells.isSettled(cell)) this.#compute(cell, this.#slotOf(cell), this.cells.rowOf(cell));
    } while (this.#wanted.length > 0 || this.#readStore() || this.#startOps());
  }

  /** Advances a wanted cell as far as possible. */
  #begin(cell: CellId): void {
    if (this.cells.isSettled(cell)) return;
    const row = this.cells.rowOf(cell);
    const slot = this.#slotOf(cell);
    const frame = this.plan.frame(slot.frame);
    if (this.#frames.get(frame.id, row) === FrameState.IDLE) this.#enterFrame(frame, row);
    const state = this.#frames.get(frame.id, row);
    if (state === FrameState.WAITING) this.#waiters.add(Awaited.JOIN, this.#frames.at(frame.id, row), cell);
    else if (state === FrameState.ABSENT) this.#settlement.absent(cell, slot, row);
    else if (state === FrameState.FAILED) {
      const cause = this.#frames.failure(frame.id, row);
      this.#settlement.fail(cell, slot, row, upstreamFailure(slot.path, cause?.path ?? frame.path, cause));
    } else if (slot.needsRow && !this.#isThere(cell, slot, frame, row)) return;
    else if (slot.readMs === 0 || !this.#lookUp(cell, slot, frame, row)) this.#compute(cell, slot, row);
  }

  /**
   * Whether the row of a cell exists. Where that is not known yet the cell waits; where it does
   * not, the cell is settled.
   */
  #isThere(cell: CellId, slot: PlanSlot, frame: PlanFrame, row: Row): boolean {
    if (this.#frames.rowState(frame.id, row) === FrameState.IDLE) this.#findRow(frame, row);
    const state = this.#frames.rowState(frame.id, row);
    if (state === FrameState.PRESENT) return true;
    if (state === FrameState.WAITING) this.#waiters.add(Awaited.EXISTENCE, this.#frames.at(frame.id, row), cell);
    else if (state === FrameState.ABSENT) this.#settlement.absent(cell, slot, row);
    else {
      const cause = this.#frames.rowFailure(frame.id, row);
      this.#settlement.fail(cell, slot, row, upstreamFailure(slot.path, cause?.path ?? frame.path, cause));
    }
    return false;
  }

  /** Runs the ops that decide whether a row exists, one after another. */
  #findRow(frame: PlanFrame, row: Row): void {
    const next = this.#frames.nextSource(frame, row, this.cells);
    if (next !== undefined) this.#wantOp(this.plan.op(next), row);
    else this.#release(Awaited.EXISTENCE, this.#frames.at(frame.id, row));
  }

  /** Records which rows exist, as found by an op that looks rows up. */
  #recordRows(op: PlanOp, rows: readonly Row[], found: readonly RowFound[]): void {
    const frame = this.plan.frame(op.frame);
    if (!frame.rowOps.includes(op.id)) return;
    for (const [at, row] of rows.entries()) {
      this.#frames.recordFound(op.id, row, found[at] as RowFound);
      if (this.#frames.rowState(frame.id, row) === FrameState.WAITING) this.#findRow(frame, row);
    }
  }

  /**
   * Queues a read of the online store, or waits for the key to read by; false when the key has no
   * value.
   */
  #lookUp(cell: CellId, slot: PlanSlot, frame: PlanFrame, row: Row): boolean {
    if (frame.keySlot === undefined) return false;
    const key = this.cells.at(frame.keySlot, row);
    this.#want(key);
    if (!this.cells.isSettled(key)) {
      this.#waiters.add(Awaited.KEY, this.#frames.at(frame.id, row), cell);
      return true;
    }
    if (!this.cells.isOk(key) || this.cells.value(key) === null) return false;
    this.#reads.add(slot, frame, cell);
    return true;
  }

  /** Computes a cell for which the store has no value. */
  #compute(cell: CellId, slot: PlanSlot, row: Row): void {
    const open = openCondition(this, slot, row);
    if (open !== undefined) {
      this.#awaitCondition(open, cell, slot, row);
      return;
    }
    const op = providerOf(this, slot, row);
    if (op) {
      if (!this.#settlement.settleKept(cell, op)) this.#wantOp(op, row);
      return;
    }
    if (slot.leavesOut) {
      this.leftOut.add(row);
      this.cells.settleAbsent(cell, this.timeOf(row).ms);
      this.#notify(slot, row);
      return;
    }
    const { defaultValue } = slot.feature;
    if (defaultValue !== undefined) {
      this.#settlement.value(cell, slot, row, defaultValue, CellOrigin.DEFAULT, this.timeOf(row).ms);
      return;
    }
    this.#settlement.fail(cell, slot, row, {
      code: ErrorCode.RESOLVER_NOT_FOUND,
      message:
        slot.choices.length > 0
          ? noConditionTrue(this.plan, slot)
          : `${readableName(slot.path)} is not in the online store, and no resolver can produce it from the inputs`,
      path: slot.path,
      resolver: "",
    });
  }

  /** Has a cell wait for a condition; fails it where the condition has failed. */
  #awaitCondition(condition: CellId, cell: CellId, slot: PlanSlot, row: Row): void {
    const failure = this.cells.failure(condition);
    if (failure) {
      const name = `the condition of ${this.#slotOf(condition).feature.conditionOf}`;
      this.#settlement.fail(cell, slot, row, upstreamFailure(slot.path, name, failure));
      return;
    }
    this.#want(condition);
    this.#waiters.add(Awaited.CONDITION, condition, cell);
  }

  #enterFrame(frame: PlanFrame, row: Row): void {
    const missing = this.#wantAll(frame.gateSlots, row);
    this.#frames.wait(frame.id, row, missing);
    if (missing === 0) this.#frames.decide(frame, row, this.cells);
  }

  #wantOp(op: PlanOp, row: Row): void {
    this.#queue ??= new OpQueue(this.plan, this.rows);
    if (this.#queue.claim(op.id, row)) this.#queue.queue(op.id, row, this.#wantAll(op.inputSlots, row));
  }

  /** Marks slots as wanted for a row; returns how many of them are not settled. */
  #wantAll(slots: readonly SlotId[], row: Row): number {
    let missing = 0;
    for (const slot of slots) {
      const cell = this.cells.at(slot, row);
      this.#want(cell);
      if (!this.cells.isSettled(cell)) missing++;
    }
    return missing;
  }

  /** Reads what is queued from the online store; false when nothing is. */
  #readStore(): boolean {
    const reads = this.#reads.take();
    if (reads.length === 0) return false;
    for (const { frame, cells } of reads) this.context.observer?.readBegan(this, frame, cells);
    const reading = readStore(this, reads);
    if (isPending(reading)) this.#follow(reading, (foundOf) => this.#settleReads(reads, foundOf));
    else this.#settleReads(reads, reading);
    return true;
  }

  /** Settles what the store had for each read, in their order. */
  #settleReads(reads: readonly StoreRead[], foundOf: FoundOf): void {
    for (let place = 0; place < reads.length; place++) {
      const read = reads[place] as StoreRead;
      const found = foundOf(place);
      if (isPending(found)) this.#follow(found, (result) => this.#settleStored(read, result));
      else this.#settleStored(read, found);
    }
  }

  /** Settles cells with what the store had for them, and has the rest computed. */
  #settleStored({ frame, cells }: StoreRead, found: StoreFound): void {
    if ("missed" in found) {
      if (found.found) settleRows(this.#settlement, found.found.op, found.found.rows, found.found.results, found.found.stored);
    } else settleStored(this.#settlement, cells, found);
    this.context.observer?.readEnded(this, frame, cells);
    for (const cell of cells) if (!this.cells.isSettled(cell)) this.#compute(cell, this.#slotOf(cell), this.cells.rowOf(cell));
  }

  #startOps(): boolean {
    let any = false;
    for (let next = this.#queue?.next(); next; next = this.#queue?.next()) {
      any = true;
      this.#start(next.op, next.rows);
    }
    const gathered = any || this.#running > 0 ? undefined : this.#queue?.nextGathered();
    if (gathered) this.#start(gathered.op, gathered.rows);
    return any || gathered !== undefined;
  }

  /** Runs an op for those rows that it can run for. */
  #start(op: PlanOp, rows: readonly Row[]): void {
    const kind = OPS[op.kind];
    const ready = this.#readyRows(kind, op, rows);
    if (ready.length === 0) return;
    this.context.observer?.opBegan(this, op, ready);
    const began = this.context.meter?.isMetered(op) ? performance.now() : undefined;
    const results = kind.run(this, op, ready);
    if (isPending(results)) this.#follow(results, (given) => this.#settle(kind, op, ready, given, began));
    else this.#settle(kind, op, ready, results, began);
  }

  /** The rows that an op can run for. Its cells of the others are settled. */
  #readyRows(kind: Op, op: PlanOp, rows: readonly Row[]): readonly Row[] {
    const ready: Row[] = [];
    for (const row of rows) {
      const verdict = kind.verdict(this, op, row);
      if (verdict === "run") ready.push(row);
      else settleVerdict(this.#settlement, op, row, verdict);
    }
    return ready;
  }

  /** @param began when the op began; undefined = its calls are not recorded */
  #settle(kind: Op, op: PlanOp, rows: readonly Row[], results: unknown, began: number | undefined): void {
    const found = kind.settle(this.#settlement, op, rows, results);
    if (found) this.#recordRows(op, rows, found);
    this.context.observer?.opEnded(this, op, rows);
    if (began !== undefined) this.context.meter?.called(this, op, rows, performance.now() - began);
  }

  /** Notifies everything that waits for a cell that it is settled. */
  #notify(slot: PlanSlot, row: Row): void {
    if (this.#queue) for (const op of slot.takers) this.#queue.inputSettled(op, row);
    for (const id of slot.gates)
      if (this.#frames.gateSettled(id, row)) {
        this.#frames.decide(this.plan.frame(id), row, this.cells);
        this.#release(Awaited.JOIN, this.#frames.at(id, row));
      }
    if (slot.isKey) this.#release(Awaited.KEY, this.#frames.at(slot.frame, row));
    if (slot.isCondition) for (const cell of this.#waiters.take(Awaited.CONDITION, this.cells.at(slot.id, row))) this.#decided.push(cell);
  }

  #release(what: Awaited, row: FrameRow): void {
    for (const cell of this.#waiters.take(what, row)) this.#wanted.push(cell);
  }

  #slotOf(cell: CellId): PlanSlot {
    return this.plan.slot(this.cells.slotOf(cell));
  }

  /**
   * Continues the run when asynchronous work ends. A rejection is a defect, with which the whole
   * run rejects.
   */
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
        this.#ended?.resolve();
      })
      .catch((error: unknown) => {
        this.#over = true;
        this.#ended?.reject(error);
      });
  }

  /** Ends the run because the caller went away or the time is up: unsettled outputs fail. */
  #cancel(): void {
    if (this.#over) return;
    this.#over = true;
    const [code, why] = isDeadlinePassed(this.context.signal?.reason)
      ? [ErrorCode.DEADLINE_EXCEEDED, "the caller's deadline passed"]
      : [ErrorCode.CANCELLED, "the caller went away"];
    this.#settlement.rest((path) => ({ code, message: `${why} before the value was there`, path, resolver: "" }));
    this.#ended?.resolve();
  }

  #conclude(): void {
    this.#settlement.rest((path) => {
      throw new Error(`the plan stalled: ${path} was never settled`);
    });
  }
}
