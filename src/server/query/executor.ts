/**
 * Runs a plan on rows of given values. Work is driven by what is wanted: a cell that an output needs is looked up in the online store if the plan says so,
 * and only if that misses are the op that computes it and that op's inputs wanted in turn. Ops start as soon as all their rows have their inputs, so that
 * independent ones run at the same time. Without asynchronous work nothing is awaited.
 */

import { ErrorCode } from "../../../gen/svc/v1/error_pb.ts";
import type { FeatureValue } from "../../domain/value.ts";
import type { StoredValue } from "../stores/online.ts";
import { type OpVerdict, upstreamFailure, verdictOf } from "./arguments.ts";
import { type CellFailure, CellOrigin, CellState, Cells } from "./cells.ts";
import { FrameState, FrameStates } from "./frame-states.ts";
import { OpQueue } from "./op-queue.ts";
import type { Plan, PlanFrame, PlanOp, PlanSlot } from "./plan.ts";
import { callPython } from "./python-op.ts";
import type { OpResults, RunContext } from "./run-context.ts";
import { callSql } from "./sql-op.ts";
import { readStored } from "./store-access.ts";

/** One run of a plan. */
export class Execution {
  readonly cells: Cells;
  /** Failures that a default covered. */
  readonly covered: CellFailure[] = [];
  readonly #wanted: number[] = [];
  readonly #frames: FrameStates;
  readonly #queue: OpQueue;
  /** Cells to be read from the online store, by frame. */
  readonly #reads = new Map<PlanFrame, number[]>();
  /** Cells that wait for a frame's row, and for its key, by frame and row. */
  readonly #frameWaiters = new Map<number, number[]>();
  readonly #keyWaiters = new Map<number, number[]>();
  #running = 0;
  #over = false;
  #finish: () => void = () => {};
  #abort: (reason: unknown) => void = () => {};

  constructor(
    readonly plan: Plan,
    readonly rows: number,
    readonly context: RunContext,
  ) {
    this.cells = new Cells(plan.slots.length, rows);
    this.#frames = new FrameStates(plan, rows);
    this.#queue = new OpQueue(plan.ops, rows);
  }

  /**
   * Settles every output.
   * @param columns for each given slot of the plan, a value per row
   * @returns a promise only when something has to be waited for
   */
  run(columns: readonly (readonly FeatureValue[])[]): undefined | Promise<void> {
    const { plan, rows, cells } = this;
    for (let position = 0; position < plan.givenSlots.length; position++)
      for (let row = 0; row < rows; row++) {
        const cell = (plan.givenSlots[position] as number) * rows + row;
        cells.settle(cell, columns[position]?.[row] ?? null, CellOrigin.GIVEN, this.context.nowMs);
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
    if (state === FrameState.WAITING) waitIn(this.#frameWaiters, frame.id * this.rows + row, cell);
    else if (state === FrameState.ABSENT) this.#settleAbsent(cell, slot, row);
    else if (state === FrameState.FAILED) {
      const cause = this.#frames.failure(frame.id, row);
      this.#fail(cell, slot, row, upstreamFailure(slot.path, cause?.path ?? frame.path, cause));
    } else if (slot.readMs === 0 || !this.#lookUp(cell, frame, row)) this.#compute(cell, slot, row);
  }

  /** Queues a read of the online store, or waits for the key to read by; false when the key has no value. */
  #lookUp(cell: number, frame: PlanFrame, row: number): boolean {
    const key = frame.keySlot * this.rows + row;
    this.#want(key);
    if (!this.cells.settled(key)) {
      waitIn(this.#keyWaiters, frame.id * this.rows + row, cell);
      return true;
    }
    if (this.cells.state[key] !== CellState.OK || this.cells.values[key] === null) return false;
    const reads = this.#reads.get(frame);
    if (reads) reads.push(cell);
    else this.#reads.set(frame, [cell]);
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
      this.#settle(cell, slot, row, defaultValue, CellOrigin.DEFAULT, this.context.nowMs);
      return;
    }
    this.#fail(cell, slot, row, {
      code: ErrorCode.RESOLVER_NOT_FOUND,
      message: `${slot.path} is not in the online store, and no resolver can produce it from the inputs`,
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
    if (this.#reads.size === 0) return false;
    const reads = [...this.#reads];
    this.#reads.clear();
    for (const [frame, cells] of reads) {
      const reading = readStored(this, frame, cells);
      if (reading instanceof Promise) this.#follow(reading, (stored) => this.#takeStored(cells, stored));
      else this.#takeStored(cells, reading);
    }
    return true;
  }

  #takeStored(cells: readonly number[], stored: readonly (StoredValue | undefined)[]): void {
    for (let position = 0; position < cells.length; position++) {
      const cell = cells[position] as number;
      if (this.cells.settled(cell)) continue;
      const slot = this.#slotOf(cell);
      const hit = stored[position];
      if (!hit) this.#compute(cell, slot, cell % this.rows);
      else {
        this.cells.storedBy.set(cell, hit.resolver);
        this.#settle(cell, slot, cell % this.rows, hit.value, CellOrigin.STORED, hit.observedAt);
      }
    }
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
      else for (const id of op.outputs) this.#takeVerdict(id, row, verdict);
    }
    if (ready.length === 0) return;
    if (op.kind === "join") this.#copy(op, ready);
    else
      this.#follow(op.kind === "python" ? callPython(this, op, ready) : callSql(this, op, ready), (results) =>
        this.#takeResults(op, ready, results),
      );
  }

  /** A join gives the far side the near side's value. */
  #copy(op: PlanOp, rows: readonly number[]): void {
    for (const id of op.outputs)
      for (const row of rows) {
        const cell = id * this.rows + row;
        if (this.cells.settled(cell)) continue;
        const value = this.cells.values[(op.inputSlots[0] as number) * this.rows + row] as FeatureValue;
        this.#settle(cell, this.plan.slots[id] as PlanSlot, row, value, CellOrigin.JOINED, this.context.nowMs);
      }
  }

  #takeVerdict(id: number, row: number, verdict: Exclude<OpVerdict, "run">): void {
    const cell = id * this.rows + row;
    if (this.cells.settled(cell)) return;
    const slot = this.plan.slots[id] as PlanSlot;
    if (verdict === "absent") this.#settleAbsent(cell, slot, row);
    else this.#fail(cell, slot, row, upstreamFailure(slot.path, verdict.input, verdict.failure));
  }

  #takeResults(op: PlanOp, rows: readonly number[], results: OpResults): void {
    for (let position = 0; position < op.outputs.length; position++) {
      const slot = this.plan.slots[op.outputs[position] as number] as PlanSlot;
      for (let index = 0; index < rows.length; index++) {
        const row = rows[index] as number;
        const cell = slot.id * this.rows + row;
        const outcome = results.outcomes[position]?.[index];
        if (!outcome || this.cells.settled(cell)) continue;
        if (outcome.kind === "value")
          this.#settle(cell, slot, row, outcome.value, CellOrigin.COMPUTED, results.observedAt[index] ?? this.context.nowMs);
        else if (outcome.kind === "absent") this.#settleAbsent(cell, slot, row);
        else this.#fail(cell, slot, row, outcome.failure, outcome.final);
      }
    }
  }

  #settle(cell: number, slot: PlanSlot, row: number, value: FeatureValue, origin: number, observed: number): void {
    this.cells.settle(cell, value, origin, observed);
    this.#notify(slot, row);
  }

  #settleAbsent(cell: number, slot: PlanSlot, row: number): void {
    const frame = this.plan.frames[slot.frame] as PlanFrame;
    if (!frame.optional) {
      const message = `${slot.path} has no value, because ${frame.path} has no row`;
      this.#fail(cell, slot, row, { code: ErrorCode.UPSTREAM_FAILED, message, path: slot.path, resolver: "" });
      return;
    }
    this.cells.state[cell] = CellState.ABSENT;
    this.cells.observed[cell] = this.context.nowMs;
    this.#notify(slot, row);
  }

  /** Settles a cell with its feature's default, or as failed. `final` = a default does not help. */
  #fail(cell: number, slot: PlanSlot, row: number, failure: CellFailure, final = false): void {
    const { defaultValue } = slot.feature;
    if (defaultValue !== undefined && !final) {
      this.covered.push(failure);
      this.#settle(cell, slot, row, defaultValue, CellOrigin.DEFAULT, this.context.nowMs);
      return;
    }
    this.cells.failures[cell] = failure;
    this.cells.state[cell] = CellState.FAILED;
    this.#notify(slot, row);
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

  #release(waiters: Map<number, number[]>, at: number): void {
    const cells = waiters.get(at);
    if (!cells) return;
    waiters.delete(at);
    for (const cell of cells) this.#wanted.push(cell);
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

  /** The caller went away: what is not settled fails. */
  #cancel(): void {
    if (this.#over) return;
    this.#over = true;
    this.#settleRest((path) => ({
      code: ErrorCode.CANCELLED,
      message: "the caller went away before the value was there",
      path,
      resolver: "",
    }));
    this.#finish();
  }

  #conclude(): void {
    this.#settleRest((path) => {
      throw new Error(`the plan stalled: ${path} was never settled`);
    });
  }

  #settleRest(failure: (path: string) => CellFailure): void {
    for (const { slot, path } of this.plan.outputs)
      for (let row = 0; slot >= 0 && row < this.rows; row++) {
        const cell = slot * this.rows + row;
        if (this.cells.settled(cell)) continue;
        this.cells.failures[cell] = failure(path);
        this.cells.state[cell] = CellState.FAILED;
      }
  }
}

function waitIn(waiters: Map<number, number[]>, at: number, cell: number): void {
  const cells = waiters.get(at);
  if (cells) cells.push(cell);
  else waiters.set(at, [cell]);
}
