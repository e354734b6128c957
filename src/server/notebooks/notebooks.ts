/**
 * Notebooks: cells that are kept with what running them gave, and the kernels that run them. Every
 * node takes calls for any notebook: what is asked is in the store, and the node that has the
 * kernel does it.
 */

import type { Clock } from "../../context/clock.ts";
import { ipynbText, NotNotebook, readIpynb } from "../../domain/notebook/ipynb.ts";
import {
  type CellKind,
  type CellOutput,
  isOpen,
  MAX_CELL_OUTPUT,
  MAX_CELLS,
  MAX_DESCRIPTION,
  MAX_NOTEBOOK_OUTPUT,
  MAX_SOURCE,
  MAX_TITLE,
  withinLength,
} from "../../domain/notebook/notebook.ts";
import type { DeploymentTarget } from "../access/scope.ts";
import { suspended } from "../deployments/environment-states.ts";
import { Failure } from "../failure.ts";
import { newId } from "../identifier.ts";
import { noteChange } from "../jobs/changes.ts";
import { GONE_AFTER_MS } from "../nodes/presence.ts";
import type { EnvironmentRecord } from "../stores/metadata/identity.ts";
import type { CellRecord, ImportedCell, KernelRecord, NotebookFilter, NotebookRecord, OutputsRead } from "../stores/metadata/notebooks.ts";
import type { MetadataStore } from "../stores/metadata/store.ts";
import { createKernels, type KernelsOptions } from "./kernels.ts";

/** The services that notebooks need. */
export interface NotebooksOptions extends Omit<KernelsOptions, "store" | "deployments"> {
  readonly metadata: Pick<MetadataStore, "nodes" | "notebooks">;
  readonly deployments: KernelsOptions["deployments"] & {
    resolve(target: DeploymentTarget): Promise<string>;
    named(idOrTag: string, environmentId: string, branch: string): Promise<{ readonly id: string }>;
  };
  readonly clock: Clock;
}

/** What a new notebook is called. */
export interface NotebookTitle {
  /** Empty = one is chosen. */
  readonly title: string;
  readonly description: string;
  /** Id of the client that makes it. */
  readonly createdBy: string;
}

/** The capability. Every method rejects with Failure: not_found for what the environment lacks. */
export interface Notebooks {
  list(filter: NotebookFilter): Promise<NotebookRecord[]>;
  /** A notebook by its id or title. */
  find(environmentId: string, named: { readonly id: string } | { readonly title: string }): Promise<NotebookRecord>;
  cells(notebook: NotebookRecord): Promise<CellRecord[]>;
  /** What the last run of a cell gave. */
  outputs(cell: CellRecord): Promise<CellOutput[]>;
  create(environment: EnvironmentRecord, wanted: NotebookTitle): Promise<NotebookRecord>;
  /** Makes a notebook of a file of Jupyter. */
  import(environment: EnvironmentRecord, wanted: NotebookTitle, ipynb: string): Promise<NotebookRecord>;
  /** The file of a notebook. */
  export(notebook: NotebookRecord): Promise<string>;
  /** Removes a notebook and ends its kernel. */
  remove(notebook: NotebookRecord): Promise<void>;
  /** Adds a cell. @param place default: after all others */
  addCell(notebook: NotebookRecord, cell: { readonly kind: CellKind; readonly source: string }, place?: number): Promise<CellRecord>;
  editCell(notebook: NotebookRecord, cellId: string, source: string): Promise<CellRecord>;
  moveCell(notebook: NotebookRecord, cellId: string, place: number): Promise<CellRecord[]>;
  removeCell(notebook: NotebookRecord, cellId: string): Promise<CellRecord>;
  /** Has a cell run by the kernel, which is started if there is none. */
  run(target: DeploymentTarget, notebook: NotebookRecord, cellId: string): Promise<CellRecord>;
  /** How a cell stands and what it gives, until its current run ends. */
  watch(notebook: NotebookRecord, cellId: string, signal: AbortSignal): AsyncIterable<OutputsRead>;
  /**
   * Interrupts what runs, and takes back what waits.
   * @param cellId the only cell that is meant; empty = all
   */
  interrupt(notebook: NotebookRecord, cellId: string): Promise<NotebookRecord>;
  /** Ends the kernel. */
  stop(notebook: NotebookRecord): Promise<NotebookRecord>;
  /** Ends the kernels of this node. */
  close(): Promise<void>;
}

/** Most notebooks of an environment. */
const MAX_NOTEBOOKS = 1_000;
/** Most kernels of a node. */
const MAX_KERNELS = 16;
/** Milliseconds between two looks at a cell that is followed: notifications may be lost. */
const LOOK_MS = 2_000;
/** Looks after which a follower hears of a cell that gives nothing, as a sign of life. */
const SILENT_LOOKS = 5;

/** Makes the capability. */
export async function createNotebooks(options: NotebooksOptions): Promise<Notebooks> {
  const { metadata, deployments, protection, bus, clock, node } = options;
  const store = metadata.notebooks;
  const kernels = createKernels({ ...options, store });

  const changed = ({ id, environmentId }: NotebookRecord): void => {
    bus.publish("notebooks", id);
    bus.publish("notebook-outputs", id);
    noteChange(bus, "notebooks", environmentId);
  };
  const endLost = (notebookId: string, kernelId: string): Promise<boolean> =>
    store.endKernel(notebookId, kernelId, "was lost: its server ended", "the kernel was lost: its server ended");
  for (const { notebookId, kernel } of await store.kernelsOf(node)) await endLost(notebookId, kernel.id);

  /** A notebook, after the end of its kernel was written down if its node is gone. */
  const settled = async (notebook: NotebookRecord): Promise<NotebookRecord> => {
    const { id, kernel } = notebook;
    if (!kernel || kernel.state === "ended" || kernel.node === node) return notebook;
    if ((await metadata.nodes.list(GONE_AFTER_MS)).some((one) => one.id === kernel.node)) return notebook;
    await endLost(id, kernel.id);
    return (await store.notebook(id)) ?? notebook;
  };

  const noNotebook = (named: string, hint = "`svc notebook list` shows what there is."): Failure =>
    new Failure("not_found", `There is no notebook '${named.slice(0, MAX_TITLE)}' in this environment.`, {
      hint,
    });
  const noCell = ({ title }: NotebookRecord, cellId: string): Failure =>
    new Failure("not_found", `Notebook '${title}' has no cell '${cellId.slice(0, 100)}'.`, { hint: "`svc notebook get` shows its cells." });
  const openCell = (): Failure =>
    new Failure("failed_precondition", "The cell waits or runs.", { hint: "Wait until it has ended, or interrupt it." });
  const reread = async ({ id }: NotebookRecord): Promise<NotebookRecord> => {
    const found = await store.notebook(id);
    if (!found) throw noNotebook(id);
    return found;
  };

  /** Stores a notebook under the title that is wanted, or the first "Untitled" that is free. */
  const keep = async (environment: EnvironmentRecord, wanted: NotebookTitle, cells: readonly ImportedCell[]): Promise<NotebookRecord> => {
    checkTitle(wanted);
    const id = newId("nb", clock.now());
    for (let number = 1; ; number++) {
      const title = wanted.title || (number === 1 ? "Untitled" : `Untitled ${number}`);
      const stored = await store.create({ ...wanted, title, id, environmentId: environment.id }, cells, MAX_NOTEBOOKS);
      if (stored === "full")
        throw new Failure("resource_exhausted", `Environment '${environment.name}' has ${MAX_NOTEBOOKS} notebooks, which is the most.`, {
          hint: "`svc notebook delete` removes one that is not needed.",
        });
      if (stored === "taken" && wanted.title !== "")
        throw new Failure("already_exists", `Environment '${environment.name}' has a notebook '${title}' already.`, {
          hint: `\`svc notebook get --name ${JSON.stringify(title)}\` shows it; give this one another name.`,
        });
      if (stored === "stored") break;
    }
    noteChange(bus, "notebooks", environment.id);
    return reread({ id } as NotebookRecord);
  };

  /** The kernel for a run: the one there is, or one that is started. */
  const kernelFor = async (target: DeploymentTarget, given: NotebookRecord): Promise<KernelRecord> => {
    const { environment, branch } = target;
    for (;;) {
      const notebook = await settled(await reread(given));
      const { kernel } = notebook;
      const isNamed = target.deploymentId !== "";
      const wanted = isNamed ? (await deployments.named(target.deploymentId, environment.id, branch)).id : "";
      if (kernel && kernel.state !== "ended") {
        if ((wanted === "" || kernel.deploymentId === wanted) && (branch === "" || kernel.branch === branch)) return kernel;
        const where = kernel.branch === "" ? `deployment ${kernel.deploymentId}` : `branch '${kernel.branch}'`;
        throw new Failure("failed_precondition", `The kernel of notebook '${notebook.title}' runs in ${where}.`, {
          hint: `\`svc notebook stop ${notebook.id}\` ends it; the next cell starts another one.`,
        });
      }
      if (kernels.count() >= MAX_KERNELS)
        throw new Failure("resource_exhausted", `${MAX_KERNELS} kernels run on this server, which is the most.`, {
          hint: "`svc notebook list` shows them; `svc notebook stop` ends one.",
        });
      const deploymentId = wanted || (await deployments.resolve(target));
      const { branch: itsBranch } = await deployments.find(deploymentId, environment.id);
      const started = { id: newId("krn", clock.now()), node, deploymentId, branch: itsBranch };
      if (!(await store.startKernel(notebook.id, started))) continue;
      kernels.start(notebook, started);
      return (await reread(notebook)).kernel as KernelRecord;
    }
  };

  return {
    list: async (filter) => Promise.all((await store.list(filter)).map(settled)),

    async find(environmentId, named) {
      const found = "id" in named ? await store.notebook(named.id) : await store.titled(environmentId, named.title);
      if (found?.environmentId === environmentId) return settled(found);
      if ("title" in named) throw noNotebook(named.title);
      throw noNotebook(named.id, (await store.titled(environmentId, named.id)) && "A notebook has this title: `--name` takes titles.");
    },

    cells: ({ id }) => store.cells(id),
    outputs: ({ id }) => store.outputs(id),
    create: (environment, wanted) => keep(environment, wanted, []),

    async import(environment, wanted, ipynb) {
      const now = clock.now();
      let left = MAX_NOTEBOOK_OUTPUT;
      const cells = readCells(ipynb).map(({ outputs, ...cell }) => {
        const { kept, isCut } = withinLength(outputs, Math.min(left, MAX_CELL_OUTPUT));
        const note: CellOutput = { kind: "stream", stream: "stderr", text: "\n[the rest was left out when the file was imported]\n" };
        left -= JSON.stringify(kept).length;
        return { ...cell, id: newId("cell", now), outputs: isCut ? [...kept, note] : kept };
      });
      return keep(environment, wanted, cells);
    },

    async export({ id }) {
      const cells = await store.cells(id);
      return ipynbText(await Promise.all(cells.map(async (cell) => ({ ...cell, outputs: await store.outputs(cell.id) }))));
    },

    async remove(notebook) {
      const { kernel } = notebook;
      if (kernel && kernel.state !== "ended") await store.askKernel(notebook.id, "stop");
      changed(notebook);
      if (kernel) await kernels.stop(kernel.id);
      if (!(await store.remove(notebook.id))) throw noNotebook(notebook.id);
      changed(notebook);
    },

    async addCell(notebook, { kind, source }, place = MAX_CELLS) {
      checkSource(source);
      const cell = await store.addCell(notebook.id, { id: newId("cell", clock.now()), kind, source }, place, MAX_CELLS);
      if (cell === "missing") throw noNotebook(notebook.id);
      if (cell === "full")
        throw new Failure("resource_exhausted", `Notebook '${notebook.title}' has ${MAX_CELLS} cells, which is the most.`, {
          hint: "Remove cells that are not needed, or go on in another notebook.",
        });
      changed(notebook);
      return cell;
    },

    async editCell(notebook, cellId, source) {
      checkSource(source);
      const cell = await store.editCell(notebook.id, cellId, source);
      if (cell === "missing") throw noCell(notebook, cellId);
      if (cell === "open") throw openCell();
      changed(notebook);
      return cell;
    },

    async moveCell(notebook, cellId, place) {
      if (!(await store.moveCell(notebook.id, cellId, place))) throw noCell(notebook, cellId);
      changed(notebook);
      return store.cells(notebook.id);
    },

    async removeCell(notebook, cellId) {
      const cell = await store.removeCell(notebook.id, cellId);
      if (cell === "missing") throw noCell(notebook, cellId);
      if (cell === "open") throw openCell();
      changed(notebook);
      return cell;
    },

    async run(target, notebook, cellId) {
      const { environment } = target;
      if (environment.suspendedAt !== undefined) throw suspended(environment);
      if (await protection.isProtected(environment.id))
        throw new Failure(
          "failed_precondition",
          `Environment '${environment.name}' is protected, so cells do not run there: nobody approved them.`,
          {
            hint: "Run the notebook in an environment that is not protected.",
          },
        );
      const found = await store.cell(notebook.id, cellId);
      if (!found) throw noCell(notebook, cellId);
      if (found.kind !== "code") throw new Failure("failed_precondition", "The cell is text: only cells of code run.");
      if (isOpen(found.state)) throw openCell();
      for (;;) {
        const kernel = await kernelFor(target, notebook);
        const cell = await store.queueCell(notebook.id, kernel.id, cellId);
        if (cell === "ended") continue;
        if (cell === "missing") throw noCell(notebook, cellId);
        if (cell === "open") throw openCell();
        changed(notebook);
        return cell;
      }
    },

    async *watch(notebook, cellId, signal) {
      let cursor = { run: -1, outputs: 0, length: 0 };
      let run: number | undefined;
      let state = "";
      let silent = 0;
      for (;;) {
        const pause = new AbortController();
        const unsubscribe = bus.subscribe("notebook-outputs", (id) => {
          if (id === "" || id === notebook.id) pause.abort();
        });
        try {
          await settled(await reread(notebook));
          const read = await store.outputsAfter(notebook.id, cellId, cursor);
          if (!read) throw noCell(notebook, cellId);
          run ??= read.cell.run;
          if (read.cell.run !== run) return;
          cursor = read.cursor;
          if (read.outputs.length > 0 || read.cell.state !== state || silent === SILENT_LOOKS) {
            yield read;
            silent = 0;
          }
          state = read.cell.state;
          silent++;
          if (!isOpen(read.cell.state)) return;
          await clock.sleep(LOOK_MS, AbortSignal.any([pause.signal, signal])).catch(() => undefined);
          signal.throwIfAborted();
        } finally {
          unsubscribe();
        }
      }
    },

    async interrupt(given, cellId) {
      const notebook = await settled(given);
      const cells = cellId === "" ? await store.cells(notebook.id) : [await store.cell(notebook.id, cellId)];
      if (cells[0] === undefined && cellId !== "") throw noCell(notebook, cellId);
      const isRunning = cells.some((cell) => cell?.state === "running");
      const taken = await store.unqueueCells(notebook.id, cellId || undefined);
      if (!(isRunning && (await store.askKernel(notebook.id, "interrupt"))) && taken === 0)
        throw new Failure("failed_precondition", `No cell of notebook '${notebook.title}' waits or runs.`);
      changed(notebook);
      return reread(notebook);
    },

    async stop(given) {
      const notebook = await settled(given);
      if (!(await store.askKernel(notebook.id, "stop")))
        throw new Failure("failed_precondition", `Notebook '${notebook.title}' has no kernel that runs.`, {
          hint: "`svc notebook exec` runs a cell, and starts one.",
        });
      changed(notebook);
      return reread(notebook);
    },

    close: () => kernels.close(),
  };
}

function checkTitle({ title, description }: NotebookTitle): void {
  if (title.length > MAX_TITLE || title.trim() !== title || /[\p{Cc}\p{Cf}]/u.test(title))
    throw new Failure("invalid_argument", `'${title.slice(0, MAX_TITLE)}' cannot be the title of a notebook.`, {
      hint: `A title has at most ${MAX_TITLE} characters, none of them control characters, and no space at its ends.`,
    });
  if (description.length > MAX_DESCRIPTION)
    throw new Failure(
      "invalid_argument",
      `A description has at most ${MAX_DESCRIPTION} characters, and this one has ${description.length}.`,
    );
}

function checkSource(source: string): void {
  if (source.length > MAX_SOURCE)
    throw new Failure("invalid_argument", `A cell has at most ${MAX_SOURCE} characters, and this one has ${source.length}.`, {
      hint: "Put what is long into a module of the project, and import it.",
    });
}

/** The cells of a file. Throws Failure invalid_argument. */
function readCells(ipynb: string): ReturnType<typeof readIpynb> {
  try {
    return readIpynb(ipynb);
  } catch (error) {
    if (!(error instanceof NotNotebook)) throw error;
    throw new Failure("invalid_argument", `The file ${error.message}.`, { hint: "Give a file that Jupyter saved: `notebook.ipynb`." });
  }
}
