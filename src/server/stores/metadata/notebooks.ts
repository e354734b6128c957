/**
 * Notebooks: their cells, what these gave, and their kernels. Every method is one atomic step;
 * times are epoch milliseconds. The cells that wait are a queue, which the node that has the kernel
 * works off; whoever writes for a kernel gives its id, and writes nothing once another one, or its
 * end, is stored.
 */

import type { CellKind, CellOutput, CellState } from "../../../domain/notebook/notebook.ts";

/** A notebook to be stored. */
export interface NewNotebook {
  readonly id: string;
  readonly environmentId: string;
  /** Unique in the environment. */
  readonly title: string;
  readonly description: string;
  /** Id of the client that made it. */
  readonly createdBy: string;
}

/** A kernel that is about to start. */
export interface NewKernel {
  readonly id: string;
  /** Id of the node that starts it. */
  readonly node: string;
  readonly deploymentId: string;
  /** Branch of that deployment; empty = the environment's own. */
  readonly branch: string;
}

/** A kernel as it is stored. */
export interface KernelRecord extends NewKernel {
  readonly state: "starting" | "idle" | "busy" | "ended";
  /** Name of its process; empty = it has none yet. */
  readonly process: string;
  /** Cells that it began to run. */
  readonly executions: number;
  readonly startedAt: number;
  readonly endedAt: number | undefined;
  /** How it ended, in words; empty = it has not. */
  readonly end: string;
  /** What somebody asked its node to do, which has not done it. */
  readonly asked: "" | "interrupt" | "stop";
}

/** A notebook as it is stored. */
export interface NotebookRecord extends NewNotebook {
  /** Its kernel, or the last one it had. */
  readonly kernel: KernelRecord | undefined;
  readonly cellCount: number;
  readonly createdAt: number;
  readonly updatedAt: number;
}

/** A cell to be stored. */
export interface NewCell {
  readonly id: string;
  readonly kind: CellKind;
  readonly source: string;
}

/** A cell to be stored with what it gave elsewhere. */
export interface ImportedCell extends NewCell {
  readonly executionCount: number | undefined;
  readonly outputs: readonly CellOutput[];
}

/** A cell as it is stored. */
export interface CellRecord extends NewCell {
  readonly notebookId: string;
  readonly state: CellState;
  /** Number of its runs; outputs are those of the last one. */
  readonly run: number;
  /** Number of its last run among those of the kernel; undefined = it never ran. */
  readonly executionCount: number | undefined;
  readonly startedAt: number | undefined;
  readonly endedAt: number | undefined;
}

/** How far the outputs of a cell were read. */
export interface OutputCursor {
  readonly run: number;
  /** Outputs that were read. */
  readonly outputs: number;
  /** Characters that were read of the last of them, where it is text that may go on. */
  readonly length: number;
}

/** What a cell has given beyond a cursor. */
export interface OutputsRead {
  readonly cell: CellRecord;
  /** The first one may go on where the last one that was read ended. */
  readonly outputs: readonly CellOutput[];
  readonly cursor: OutputCursor;
  /** Whether the cursor was that of an earlier run. */
  readonly isOtherRun: boolean;
}

/** A selection of notebooks. */
export interface NotebookFilter {
  readonly environmentId: string;
  /** Only those that were stored before the notebook with this id. */
  readonly before?: string | undefined;
  readonly limit: number;
}

/** The notebooks. */
export interface NotebookStore {
  /**
   * Stores a notebook with cells, all or nothing: `full` when the environment would have more than
   * `limit` notebooks, `taken` when one of it has the title.
   */
  create(notebook: NewNotebook, cells: readonly ImportedCell[], limit: number): Promise<"stored" | "full" | "taken">;
  notebook(id: string): Promise<NotebookRecord | undefined>;
  /** The notebook of an environment that has a title. */
  titled(environmentId: string, title: string): Promise<NotebookRecord | undefined>;
  /** Selected notebooks, newest first. */
  list(filter: NotebookFilter): Promise<NotebookRecord[]>;
  /** Removes a notebook with its cells; false when there is none. */
  remove(id: string): Promise<boolean>;

  /** The cells of a notebook, in their order. */
  cells(notebookId: string): Promise<CellRecord[]>;
  cell(notebookId: string, id: string): Promise<CellRecord | undefined>;
  /** Adds a cell at a place, beyond the last = after it; `full` at the limit of cells. */
  addCell(notebookId: string, cell: NewCell, place: number, limit: number): Promise<CellRecord | "full" | "missing">;
  /** Changes the source of a cell; `open` while it waits or runs. */
  editCell(notebookId: string, id: string, source: string): Promise<CellRecord | "open" | "missing">;
  /** Gives a cell another place; false when there is none. */
  moveCell(notebookId: string, id: string, place: number): Promise<boolean>;
  /** Removes a cell with what it gave; `open` while it waits or runs. */
  removeCell(notebookId: string, id: string): Promise<CellRecord | "open" | "missing">;

  /** What the last run of a cell gave. */
  outputs(cellId: string): Promise<CellOutput[]>;
  /** What a cell gave beyond a cursor; undefined when there is no such cell. */
  outputsAfter(notebookId: string, cellId: string, cursor: OutputCursor): Promise<OutputsRead | undefined>;
  /** Characters of what all cells of a notebook gave. */
  outputLength(notebookId: string): Promise<number>;

  /**
   * Has a cell of code wait for a kernel, after those that wait, without what it gave before.
   * `open` when it waits or runs, `ended` when the kernel is not the notebook's, or has ended.
   */
  queueCell(notebookId: string, kernelId: string, cellId: string): Promise<CellRecord | "ended" | "open" | "missing">;
  /**
   * Takes cells that wait back to those that were not run, or one of them; returns their number.
   */
  unqueueCells(notebookId: string, cellId?: string): Promise<number>;
  /**
   * Gives a notebook a kernel, unless it has one that has not ended: false then, and when there is
   * no notebook.
   */
  startKernel(notebookId: string, kernel: NewKernel): Promise<boolean>;
  /** Says that a kernel can run cells. False when it is not the notebook's, or has ended. */
  kernelReady(notebookId: string, kernelId: string, process: string): Promise<boolean>;
  /** Asks a kernel to interrupt what it runs, or to stop; false when there is none. */
  askKernel(notebookId: string, asked: "interrupt" | "stop"): Promise<boolean>;
  /** What a kernel was asked to do, which is answered once. */
  takeAsked(notebookId: string, kernelId: string): Promise<KernelRecord["asked"]>;
  /**
   * Begins the cell that has waited longest; undefined when none waits, or the kernel is not the
   * notebook's.
   */
  beginCell(notebookId: string, kernelId: string): Promise<CellRecord | undefined>;
  /**
   * Adds what the running cell of a kernel gave; text goes on where the last output ended, if that
   * is of the same stream. False when another one runs, or none.
   */
  addOutputs(notebookId: string, kernelId: string, cell: Pick<CellRecord, "id" | "run">, outputs: readonly CellOutput[]): Promise<boolean>;
  /** Ends the running cell of a kernel. False as `addOutputs`. */
  endCell(
    notebookId: string,
    kernelId: string,
    cell: Pick<CellRecord, "id" | "run">,
    state: "succeeded" | "failed" | "interrupted",
  ): Promise<boolean>;
  /**
   * Ends a kernel. Cells that run or wait fail with an error that says how it ended, in the words
   * of `error`. False when it is not the notebook's, or has ended.
   */
  endKernel(notebookId: string, kernelId: string, end: string, error: string): Promise<boolean>;
  /** Kernels of a node that have not ended, by notebook. */
  kernelsOf(node: string): Promise<{ readonly notebookId: string; readonly kernel: KernelRecord }[]>;
}
