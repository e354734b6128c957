/**
 * The kernels of this node. Which cells wait, what a kernel is asked and what cells gave is in the
 * store, so that any node can take a call and follow a run; only the process is here. It ends when
 * nothing was run for a while, with its environment, and with its server.
 */

import { rm } from "node:fs/promises";
import { join } from "node:path";
import type { Clock } from "../../context/clock.ts";
import { makePrivateFolder } from "../../disk/private-file.ts";
import { errorText } from "../../domain/error-text.ts";
import { type CellOutput, joinedOutputs, MAX_CELL_OUTPUT, MAX_NOTEBOOK_OUTPUT } from "../../domain/notebook/notebook.ts";
import type { Deployments } from "../deployments/deployments.ts";
import type { Protection } from "../deployments/environment-states.ts";
import type { Bus } from "../jobs/bus.ts";
import { noteChange } from "../jobs/changes.ts";
import type { Log } from "../log.ts";
import type { LogRecorder } from "../logs/recorder.ts";
import type { Processes } from "../processes/processes.ts";
import type { PlainLog } from "../python/pool.ts";
import type { DeploymentRecord } from "../stores/metadata/deployments.ts";
import type { CellRecord, NewKernel, NotebookRecord, NotebookStore } from "../stores/metadata/notebooks.ts";
import { DEFAULT_RESOURCE_GROUP } from "../stores/metadata/usage.ts";
import { deployLayer } from "./deploy-layer.ts";
import { type KernelProcess, startKernelProcess } from "./kernel-process.ts";

/** The services that kernels need. */
export interface KernelsOptions {
  readonly store: NotebookStore;
  readonly deployments: Pick<Deployments, "create" | "find" | "halted" | "live" | "runtime" | "watch">;
  readonly protection: Protection;
  readonly processes: Pick<Processes, "began">;
  readonly logs: LogRecorder;
  readonly bus: Bus;
  readonly clock: Clock;
  readonly log: Log;
  /** Id of this node. */
  readonly node: string;
  /** Folder for the folders of kernels. */
  readonly folder: string;
  /** Milliseconds without a cell after which a kernel ends; default: an hour. */
  readonly idleMs?: number | undefined;
}

/** The kernels of this node. */
export interface Kernels {
  /** Number of those that run here. */
  count(): number;
  /** Starts a kernel that the store has given to a notebook. */
  start(notebook: NotebookRecord, kernel: NewKernel): void;
  /** Ends a kernel, if it runs here, and resolves when it has ended. */
  stop(kernelId: string): Promise<void>;
  /** Ends all, and says so in the store. */
  close(): Promise<void>;
}

const IDLE_MS = 3_600_000;
/** Milliseconds between two looks at the store: notifications may be lost. */
const LOOK_MS = 15_000;
/** Milliseconds for which outputs are gathered before they are stored. */
const GATHER_MS = 50;
const MAX_END = 2_000;

/** Makes the kernels of a node. */
export function createKernels(options: KernelsOptions): Kernels {
  const { bus } = options;
  const running = new Map<string, Kernel>();
  const unsubscribe = bus.subscribe("notebooks", (id) => {
    for (const kernel of running.values()) if (id === "" || kernel.notebookId === id) kernel.wake();
  });
  return {
    count: () => running.size,
    start(notebook, given) {
      const kernel = new Kernel(notebook, given, options);
      running.set(given.id, kernel);
      void kernel.ended.finally(() => running.delete(given.id));
    },
    stop: async (kernelId) => running.get(kernelId)?.stop("was stopped"),
    async close() {
      unsubscribe();
      await Promise.all([...running.values()].map((kernel) => kernel.stop("its server was stopped")));
    },
  };
}

/** A kernel, from the start of its process to its end. */
class Kernel {
  readonly notebookId: string;
  /** Resolves when it has ended, and the store says so. Never rejects. */
  readonly ended: Promise<void>;
  private readonly over = new AbortController();
  private process: KernelProcess | undefined;
  private woken = Promise.withResolvers<void>();
  private isAsking = false;

  constructor(
    private readonly notebook: NotebookRecord,
    private readonly kernel: NewKernel,
    private readonly options: KernelsOptions,
  ) {
    this.notebookId = notebook.id;
    this.ended = this.live();
  }

  /** Looks at what the store has for it. */
  wake(): void {
    this.woken.resolve();
    void this.obey();
  }

  /** Ends it for a reason in words, and resolves when it has ended. */
  async stop(reason: string): Promise<void> {
    this.over.abort(reason);
    await this.ended;
  }

  /** Does what somebody asked it. */
  private async obey(): Promise<void> {
    if (this.isAsking) return;
    this.isAsking = true;
    const asked = await this.options.store.takeAsked(this.notebookId, this.kernel.id).catch(() => "");
    this.isAsking = false;
    if (asked === "stop") this.over.abort("was stopped");
    if (asked === "interrupt") this.process?.interrupt();
  }

  private async live(): Promise<void> {
    const { store, deployments, log, folder } = this.options;
    const { environmentId } = this.notebook;
    const own = join(folder, this.kernel.id);
    const halted = deployments.halted(environmentId);
    const signal = AbortSignal.any([this.over.signal, halted]);
    const looks = setInterval(() => this.wake(), LOOK_MS);
    let end = "";
    let error = "";
    try {
      const deployment = await deployments.find(this.kernel.deploymentId, environmentId);
      makePrivateFolder(own);
      end = await this.serve(own, deployment, signal);
      error = `the kernel ${end} before the cell had ended`;
    } catch (failure) {
      const what = this.process ? "could not go on" : "could not be started";
      end = signal.aborted ? String(signal.reason) : `${what}: ${errorText(failure)}`;
      error = `the kernel ${end}`;
    }
    clearInterval(looks);
    await rm(own, { recursive: true, force: true }).catch(() => undefined);
    await store.endKernel(this.notebookId, this.kernel.id, end.slice(0, MAX_END), error.slice(0, MAX_END)).catch((failure: unknown) => {
      log.warning("the end of a kernel could not be written down", { notebook: this.notebookId, error: String(failure) });
    });
    this.changed();
  }

  /** Runs cells until the process ends, or the signal is aborted; returns how it ended. */
  private async serve(own: string, deployment: DeploymentRecord, signal: AbortSignal): Promise<string> {
    const { store, deployments, processes } = this.options;
    const { environmentId } = this.notebook;
    const runtime = await deployments.runtime(deployment.id, environmentId, join(own, "src"), signal);
    let seen: ReturnType<Processes["began"]> | undefined;
    const process = await startKernelProcess({
      ...{ runtime, title: this.notebook.title, folder: own, signal },
      deploy: (branch, source) => deployLayer(this.options, this.notebook, deployment, { branch, source }, signal),
      onLine: (line) => this.record(line, deployment, runtime.plain, seen?.name ?? ""),
      onStart(started) {
        seen = processes.began({
          ...{ ...started, kind: "kernel", environmentId, deploymentId: deployment.id },
          ...{ resourceGroup: DEFAULT_RESOURCE_GROUP, tag: deployment.tags[0] ?? "" },
        });
      },
      onEnd: ({ how, cpuMs }) => seen?.ended({ isExpected: signal.aborted, how, cpuMs }),
    });
    this.process = process;
    seen?.ready();
    await store.kernelReady(this.notebookId, this.kernel.id, seen?.name ?? "");
    this.changed();
    await this.obey();
    try {
      await this.runCells(process, runtime.plain, signal);
    } finally {
      process.kill();
    }
    const how = await process.ended;
    return signal.aborted ? String(signal.reason) : how;
  }

  /** Runs the cells that wait and those that come, until the process ends or is idle for long. */
  private async runCells(process: KernelProcess, plain: (text: string) => string, signal: AbortSignal): Promise<void> {
    const { store, idleMs = IDLE_MS, clock } = this.options;
    const isOver = process.ended.then(() => "over" as const);
    let idleSince = clock.now();
    for (;;) {
      this.woken = Promise.withResolvers();
      const cell = await store.beginCell(this.notebookId, this.kernel.id);
      if (cell) {
        if (!(await this.run(process, cell, plain))) return;
        idleSince = clock.now();
        continue;
      }
      const resting = new AbortController();
      const rested = clock.sleep(Math.max(0, idleSince + idleMs - clock.now()), AbortSignal.any([resting.signal, signal])).then(
        () => "idle" as const,
        () => "over" as const,
      );
      const next = await Promise.race([isOver, this.woken.promise, rested]);
      resting.abort();
      if (next === "idle") this.over.abort(`ended because nothing ran for ${Math.round(idleMs / 60_000)} minutes`);
      if (next !== undefined) return;
    }
  }

  /** Runs a cell to its end; false when the process ended before. */
  private async run(process: KernelProcess, cell: CellRecord, plain: (text: string) => string): Promise<boolean> {
    const { store } = this.options;
    this.changed();
    const used = await store.outputLength(this.notebookId);
    const limit = Math.max(0, Math.min(MAX_CELL_OUTPUT, MAX_NOTEBOOK_OUTPUT - used));
    let gathered: CellOutput[] = [];
    let storing: Promise<unknown> = Promise.resolve();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const flush = (): void => {
      clearTimeout(timer);
      timer = undefined;
      const outputs = joinedOutputs(gathered.map((output) => withoutSecrets(output, plain)));
      gathered = [];
      if (outputs.length === 0) return;
      storing = storing
        .then(() => store.addOutputs(this.notebookId, this.kernel.id, cell, outputs))
        .then(() => this.changed())
        .catch((error: unknown) =>
          this.options.log.warning("what a cell gave could not be stored", { cell: cell.id, error: String(error) }),
        );
    };
    const onOutput = (outputs: readonly CellOutput[]): void => {
      gathered.push(...outputs);
      timer ??= setTimeout(flush, GATHER_MS);
    };
    const name = `${cell.id}.${cell.run}`;
    const state = await process
      .run({ name, number: cell.executionCount ?? 0, source: cell.source, limit, onOutput })
      .catch(() => undefined);
    flush();
    await storing;
    if (state) await store.endCell(this.notebookId, this.kernel.id, cell, state);
    this.changed();
    return state !== undefined;
  }

  /** Tells whoever follows the notebook, on every node. */
  private changed(): void {
    const { bus } = this.options;
    bus.publish("notebook-outputs", this.notebookId);
    noteChange(bus, "notebooks", this.notebook.environmentId);
  }

  /** Keeps a line that belongs to no cell in the log. */
  private record(
    { level, text, logger, timestampMs }: PlainLog,
    { id, branch }: DeploymentRecord,
    plain: (text: string) => string,
    podName: string,
  ): void {
    this.options.logs.record({
      ...{ environmentId: this.notebook.environmentId, deploymentId: id, branch, podName, operationId: this.notebookId },
      ...{ at: timestampMs * 1_000, level, logger, message: plain(text), resourceGroup: DEFAULT_RESOURCE_GROUP },
      component: branch === "" ? "engine" : "branch",
    });
  }
}

/** An output without the values of secrets; images are as they are. */
function withoutSecrets(output: CellOutput, plain: (text: string) => string): CellOutput {
  switch (output.kind) {
    case "stream":
      return { ...output, text: plain(output.text) };
    case "error":
      return { ...output, message: plain(output.message), traceback: plain(output.traceback) };
    default:
      return {
        ...output,
        data: Object.fromEntries(Object.entries(output.data).map(([type, text]) => [type, isBase64(type) ? text : plain(text)])),
      };
  }
}

function isBase64(type: string): boolean {
  return type.startsWith("image/") && type !== "image/svg+xml";
}
