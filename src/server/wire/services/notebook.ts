/** NotebookService: cells that are kept with what they gave, and the kernels that run them. */

import { create } from "@bufbuild/protobuf";
import type { ConnectRouter, HandlerContext } from "@connectrpc/connect";
import {
  AddCellResponseSchema,
  CellKind as CellKindMessage,
  type CellOutput as CellOutputMessage,
  CellOutputSchema,
  CellState as CellStateMessage,
  CreateNotebookResponseSchema,
  DeleteNotebookResponseSchema,
  EditCellResponseSchema,
  ExportNotebookResponseSchema,
  GetNotebookResponseSchema,
  ImportNotebookResponseSchema,
  InterruptKernelResponseSchema,
  KernelState,
  ListHtmlOutputsResponseSchema,
  ListNotebooksResponseSchema,
  MoveCellResponseSchema,
  type Notebook,
  type NotebookCell,
  NotebookCellSchema,
  type NotebookKernel,
  NotebookKernelSchema,
  NotebookSchema,
  NotebookService,
  RemoveCellResponseSchema,
  RunCellResponseSchema,
  StopKernelResponseSchema,
  WatchCellResponseSchema,
} from "../../../../gen/svc/v1/notebook_pb.ts";
import { addressOf } from "../../../domain/addresses.ts";
import type { CellKind, CellOutput, CellState } from "../../../domain/notebook/notebook.ts";
import { msToTimestamp } from "../../../domain/proto-time.ts";
import { type DeploymentTarget, resolveScope } from "../../access/scope.ts";
import { Failure } from "../../failure.ts";
import { htmlOutputs, outputOf, outputPath } from "../../notebooks/html-outputs.ts";
import type { CellRecord, KernelRecord, NotebookRecord } from "../../stores/metadata/notebooks.ts";
import { callerOf } from "../interceptors.ts";
import type { Platform } from "../platform.ts";
import { readPage } from "./page-token.ts";

const KINDS = { code: CellKindMessage.CODE, markdown: CellKindMessage.MARKDOWN } as const satisfies Record<CellKind, CellKindMessage>;
const STATES = {
  idle: CellStateMessage.IDLE,
  queued: CellStateMessage.QUEUED,
  running: CellStateMessage.RUNNING,
  succeeded: CellStateMessage.SUCCEEDED,
  failed: CellStateMessage.FAILED,
  interrupted: CellStateMessage.INTERRUPTED,
} as const satisfies Record<CellState, CellStateMessage>;
const KERNEL_STATES = {
  starting: KernelState.STARTING,
  idle: KernelState.IDLE,
  busy: KernelState.BUSY,
  ended: KernelState.ENDED,
} as const satisfies Record<KernelRecord["state"], KernelState>;

/** Adds the service to a router. */
export function register(router: ConnectRouter, platform: Platform): void {
  const scopeOf = async (context: HandlerContext): Promise<DeploymentTarget> =>
    resolveScope(platform.environments, callerOf(context), context.requestHeader);
  const shown = (notebook: NotebookRecord, { requestHeader }: HandlerContext): Notebook => {
    const { id, environmentId } = notebook;
    const url = platform.headless ? "" : platform.addressFor(requestHeader) + addressOf("notebook", { id }, { environment: environmentId });
    return notebookMessage(notebook, url);
  };
  /** The notebook of a call, and its scope. */
  const found = async (id: string, context: HandlerContext) => {
    const target = await scopeOf(context);
    const notebooks = await platform.notebooks();
    return { target, notebooks, notebook: await notebooks.find(target.environment.id, { id }) };
  };
  const titleOf = (title: string, description: string, context: HandlerContext) => ({
    ...{ title, description, createdBy: callerOf(context).clientId },
  });

  router.service(NotebookService, {
    async listNotebooks({ pageSize, pageToken }, context) {
      const { environment } = await scopeOf(context);
      const notebooks = await platform.notebooks();
      const filter = JSON.stringify(["notebooks", environment.id]);
      const page = await readPage(platform.keys.objects, filter, { pageSize, pageToken }, (limit, before) =>
        notebooks.list({ environmentId: environment.id, limit, before }),
      );
      return create(ListNotebooksResponseSchema, {
        notebooks: page.items.map((notebook) => shown(notebook, context)),
        nextPageToken: page.nextPageToken,
      });
    },

    async getNotebook({ named, includeOutputs }, context) {
      const { environment } = await scopeOf(context);
      const notebooks = await platform.notebooks();
      if (named.case === undefined || named.value === "")
        throw new Failure("invalid_argument", "The request names no notebook: give its id or its title.");
      const notebook = await notebooks.find(environment.id, named.case === "id" ? { id: named.value } : { title: named.value });
      const cells = await Promise.all(
        (await notebooks.cells(notebook)).map(async (cell) => cellMessage(cell, includeOutputs ? await notebooks.outputs(cell) : [])),
      );
      return create(GetNotebookResponseSchema, { notebook: shown(notebook, context), cells });
    },

    async createNotebook({ title, description }, context) {
      const { environment } = await scopeOf(context);
      const notebook = await (await platform.notebooks()).create(environment, titleOf(title, description, context));
      return create(CreateNotebookResponseSchema, { notebook: shown(notebook, context) });
    },

    async deleteNotebook({ id }, context) {
      const { notebooks, notebook } = await found(id, context);
      await notebooks.remove(notebook);
      return create(DeleteNotebookResponseSchema, { notebook: shown(notebook, context) });
    },

    async addCell({ notebookId, kind, source, position }, context) {
      const { notebooks, notebook } = await found(notebookId, context);
      const cell = await notebooks.addCell(notebook, { kind: kind === CellKindMessage.MARKDOWN ? "markdown" : "code", source }, position);
      return create(AddCellResponseSchema, { cell: cellMessage(cell) });
    },

    async editCell({ notebookId, cellId, source }, context) {
      const { notebooks, notebook } = await found(notebookId, context);
      return create(EditCellResponseSchema, { cell: cellMessage(await notebooks.editCell(notebook, cellId, source)) });
    },

    async moveCell({ notebookId, cellId, position }, context) {
      const { notebooks, notebook } = await found(notebookId, context);
      const cells = await notebooks.moveCell(notebook, cellId, position);
      return create(MoveCellResponseSchema, { cells: cells.map((cell) => cellMessage(cell)) });
    },

    async removeCell({ notebookId, cellId }, context) {
      const { notebooks, notebook } = await found(notebookId, context);
      return create(RemoveCellResponseSchema, { cell: cellMessage(await notebooks.removeCell(notebook, cellId)) });
    },

    async runCell({ notebookId, cellId }, context) {
      const { target, notebooks, notebook } = await found(notebookId, context);
      const cell = await notebooks.run(target, notebook, cellId);
      const now = await notebooks.find(target.environment.id, { id: notebook.id });
      return create(RunCellResponseSchema, { cell: cellMessage(cell), notebook: shown(now, context) });
    },

    async *watchCell({ notebookId, cellId }, context) {
      const { notebooks, notebook } = await found(notebookId, context);
      const signal = AbortSignal.any([context.signal, platform.stopping]);
      try {
        for await (const { cell, outputs, isOtherRun } of notebooks.watch(notebook, cellId, signal))
          yield create(WatchCellResponseSchema, { cell: cellMessage(cell), outputs: outputs.map(outputMessage), restarted: isOtherRun });
      } catch (error) {
        if (platform.stopping.aborted) throw new Failure("unavailable", "The server stops.", { hint: "Try again." });
        throw error;
      }
    },

    async interruptKernel({ notebookId, cellId }, context) {
      const { notebooks, notebook } = await found(notebookId, context);
      return create(InterruptKernelResponseSchema, { notebook: shown(await notebooks.interrupt(notebook, cellId), context) });
    },

    async stopKernel({ notebookId }, context) {
      const { notebooks, notebook } = await found(notebookId, context);
      return create(StopKernelResponseSchema, { notebook: shown(await notebooks.stop(notebook), context) });
    },

    async listHtmlOutputs({ notebookId }, context) {
      const { notebooks, notebook } = await found(notebookId, context);
      const { clock, keys } = platform;
      const outputs = (await notebooks.cells(notebook)).map(async (cell) =>
        htmlOutputs(await notebooks.outputs(cell)).map(({ html, index }) => ({
          ...{ cellId: cell.id, index },
          path: outputPath(keys.objects, outputOf(notebook, cell.id, html), clock.now()),
        })),
      );
      return create(ListHtmlOutputsResponseSchema, { outputs: (await Promise.all(outputs)).flat() });
    },

    async exportNotebook({ id }, context) {
      const { notebooks, notebook } = await found(id, context);
      return create(ExportNotebookResponseSchema, { ipynb: await notebooks.export(notebook), notebook: shown(notebook, context) });
    },

    async importNotebook({ title, ipynb }, context) {
      const { environment } = await scopeOf(context);
      const notebook = await (await platform.notebooks()).import(environment, titleOf(title, "", context), ipynb);
      return create(ImportNotebookResponseSchema, { notebook: shown(notebook, context) });
    },
  });
}

function notebookMessage(
  { id, title, description, kernel, createdBy, createdAt, updatedAt, cellCount }: NotebookRecord,
  url: string,
): Notebook {
  return create(NotebookSchema, {
    ...{ id, title, description, createdBy, cellCount, url },
    ...(kernel && { kernel: kernelMessage(kernel) }),
    createdAt: msToTimestamp(createdAt),
    updatedAt: msToTimestamp(updatedAt),
  });
}

function kernelMessage({ state, deploymentId, branch, node, process, startedAt, endedAt, end }: KernelRecord): NotebookKernel {
  return create(NotebookKernelSchema, {
    ...{ state: KERNEL_STATES[state], deploymentId, branch, node, process, end },
    startedAt: msToTimestamp(startedAt),
    ...(endedAt !== undefined && { endedAt: msToTimestamp(endedAt) }),
  });
}

function cellMessage(
  { id, kind, source, state, executionCount, startedAt, endedAt }: CellRecord,
  outputs: readonly CellOutput[] = [],
): NotebookCell {
  return create(NotebookCellSchema, {
    ...{ id, kind: KINDS[kind], source, state: STATES[state], outputs: outputs.map(outputMessage) },
    ...(executionCount !== undefined && { executionCount }),
    ...(startedAt !== undefined && { startedAt: msToTimestamp(startedAt) }),
    ...(endedAt !== undefined && { endedAt: msToTimestamp(endedAt) }),
  });
}

function outputMessage(output: CellOutput): CellOutputMessage {
  switch (output.kind) {
    case "stream":
      return create(CellOutputSchema, { content: { case: "stream", value: { name: output.stream, text: output.text } } });
    case "error": {
      const { name, message, traceback } = output;
      return create(CellOutputSchema, { content: { case: "error", value: { name, message, traceback } } });
    }
    default:
      return create(CellOutputSchema, { content: { case: output.kind, value: { data: { ...output.data } } } });
  }
}
