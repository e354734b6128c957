import type { Database } from "bun:sqlite";
import { type CellOutput, isOpen, joinedOutputs } from "../../../domain/notebook/notebook.ts";
import type { Writer } from "../sqlite/group-commit.ts";
import { integer, json, oneOf, optional, text } from "../sqlite/row-codec.ts";
import { createTable } from "../sqlite/table.ts";
import type { CellRecord, KernelRecord, NotebookRecord, NotebookStore } from "./notebooks.ts";

/** A row of `notebook_output`: text of a stream, or any other output as JSON (`stream` empty). */
interface OutputRow {
  readonly cellId: string;
  readonly number: number;
  readonly stream: "" | "stdout" | "stderr";
  readonly content: string;
}

/** The notebooks of the SQLite backend. */
export function sqliteNotebooks(db: Database, writer: Writer, now: () => number): NotebookStore {
  const notebooks = createTable<NotebookRecord>(db, "notebook", {
    id: text,
    environmentId: text,
    title: text,
    description: text,
    createdBy: text,
    kernel: optional(json<KernelRecord>()),
    cellCount: integer,
    createdAt: integer,
    updatedAt: integer,
  });
  const cells = createTable<CellRecord & { readonly place: number; readonly queuedAs: number | undefined }>(db, "notebook_cell", {
    id: text,
    notebookId: text,
    place: integer,
    kind: oneOf(),
    source: text,
    state: oneOf(),
    run: integer,
    queuedAs: optional(integer),
    executionCount: optional(integer),
    startedAt: optional(integer),
    endedAt: optional(integer),
  });
  const outputs = createTable<OutputRow>(db, "notebook_output", { cellId: text, number: integer, stream: oneOf(), content: text });

  const countOf = (sql: string, ...values: string[]): number => db.query<{ n: number | null }, string[]>(sql).get(...values)?.n ?? 0;
  const shown = (row: CellRecord & { readonly place?: number; readonly queuedAs?: number | undefined }): CellRecord => {
    const { place: _place, queuedAs: _queuedAs, ...cell } = row;
    return cell;
  };
  const cellOf = (notebookId: string, id: string): CellRecord | undefined => {
    const row = cells.one("where id = ? and notebook_id = ?", id, notebookId);
    return row && shown(row);
  };
  const changed = (id: string, patch: Partial<NotebookRecord> = {}): void =>
    void notebooks.update({ ...patch, updatedAt: now() }, "where id = $key", { key: id });
  /** Changes a cell and returns it as it is then. */
  const patchCell = (cell: CellRecord, patch: Partial<CellRecord & { queuedAs: number | undefined }>): CellRecord => {
    cells.update(patch, "where id = $key", { key: cell.id });
    changed(cell.notebookId);
    return shown({ ...cell, ...patch });
  };
  /** The kernel of a notebook, if it has that one and it has not ended. */
  const running = (notebookId: string, kernelId?: string): KernelRecord | undefined => {
    const kernel = notebooks.one("where id = ?", notebookId)?.kernel;
    return kernel && kernel.state !== "ended" && (kernelId === undefined || kernel.id === kernelId) ? kernel : undefined;
  };
  const patchKernel = (notebookId: string, kernel: KernelRecord, patch: Partial<KernelRecord>): void =>
    changed(notebookId, { kernel: { ...kernel, ...patch } });
  const append = (cellId: string, added: readonly CellOutput[]): void => {
    let last = outputs.one("where cell_id = ? order by number desc limit 1", cellId);
    for (const output of joinedOutputs(added)) {
      const stream = output.kind === "stream" ? output.stream : "";
      const content = output.kind === "stream" ? output.text : JSON.stringify(output);
      if (last && stream !== "" && last.stream === stream)
        db.query("update notebook_output set content = content || ? where cell_id = ? and number = ?").run(content, cellId, last.number);
      else {
        last = { cellId, number: (last?.number ?? -1) + 1, stream, content };
        outputs.insert(last);
      }
    }
  };
  /** The running cell of a kernel, if it is that run. */
  const runningCell = (notebookId: string, kernelId: string, { id, run }: Pick<CellRecord, "id" | "run">): CellRecord | undefined => {
    const cell = running(notebookId, kernelId) && cellOf(notebookId, id);
    return cell?.state === "running" && cell.run === run ? cell : undefined;
  };
  const placeBetween = (place: number, most: number): number => Math.max(0, Math.min(place, most));

  return {
    create: (notebook, imported, limit) =>
      writer.write(() => {
        const { environmentId, title } = notebook;
        if (notebooks.one("where environment_id = ? and title = ?", environmentId, title)) return "taken";
        if (countOf("select count(*) as n from notebook where environment_id = ?", environmentId) >= limit) return "full";
        notebooks.insert({ ...notebook, kernel: undefined, cellCount: imported.length, createdAt: now(), updatedAt: now() });
        for (const [place, { outputs: given, ...cell }] of imported.entries()) {
          const ran = { run: given.length > 0 ? 1 : 0, queuedAs: undefined, startedAt: undefined, endedAt: undefined };
          cells.insert({ ...cell, notebookId: notebook.id, place, state: "idle", ...ran });
          append(cell.id, given);
        }
        return "stored";
      }),

    async notebook(id) {
      return notebooks.one("where id = ?", id);
    },

    async titled(environmentId, title) {
      return notebooks.one("where environment_id = ? and title = ?", environmentId, title);
    },

    async list({ environmentId, before, limit }) {
      return notebooks.all(
        "where environment_id = ?1 and (?2 is null or seq < (select seq from notebook where id = ?2)) order by seq desc limit ?3",
        environmentId,
        before ?? null,
        limit,
      );
    },

    remove: (id) => writer.write(() => notebooks.remove("where id = ?", id).length === 1),

    async cells(notebookId) {
      return cells.all("where notebook_id = ? order by place", notebookId).map(shown);
    },

    async cell(notebookId, id) {
      return cellOf(notebookId, id);
    },

    addCell: (notebookId, cell, wanted, limit) =>
      writer.write(() => {
        const notebook = notebooks.one("where id = ?", notebookId);
        if (!notebook) return "missing";
        if (notebook.cellCount >= limit) return "full";
        const place = placeBetween(wanted, notebook.cellCount);
        db.query("update notebook_cell set place = place + 1 where notebook_id = ? and place >= ?").run(notebookId, place);
        const never = { run: 0, queuedAs: undefined, executionCount: undefined, startedAt: undefined, endedAt: undefined };
        const row = { ...cell, notebookId, place, state: "idle", ...never } as const;
        cells.insert(row);
        changed(notebookId, { cellCount: notebook.cellCount + 1 });
        return shown(row);
      }),

    editCell: (notebookId, id, source) =>
      writer.write(() => {
        const cell = cellOf(notebookId, id);
        if (!cell) return "missing";
        return isOpen(cell.state) ? "open" : patchCell(cell, { source });
      }),

    moveCell: (notebookId, id, wanted) =>
      writer.write(() => {
        const order = cells.all("where notebook_id = ? order by place", notebookId).map((cell) => cell.id);
        const from = order.indexOf(id);
        if (from < 0) return false;
        order.splice(from, 1);
        order.splice(placeBetween(wanted, order.length), 0, id);
        for (const [place, one] of order.entries()) cells.update({ place }, "where id = $key", { key: one });
        changed(notebookId);
        return true;
      }),

    removeCell: (notebookId, id) =>
      writer.write(() => {
        const row = cells.one("where id = ? and notebook_id = ?", id, notebookId);
        if (!row) return "missing";
        if (isOpen(row.state)) return "open";
        cells.remove("where id = ?", id);
        db.query("update notebook_cell set place = place - 1 where notebook_id = ? and place > ?").run(notebookId, row.place);
        db.query("update notebook set cell_count = cell_count - 1 where id = ?").run(notebookId);
        changed(notebookId);
        return shown(row);
      }),

    async outputs(cellId) {
      return outputs.all("where cell_id = ? order by number", cellId).map(outputOf);
    },

    async outputsAfter(notebookId, cellId, { run, outputs: read, length }) {
      const cell = cellOf(notebookId, cellId);
      if (!cell) return undefined;
      const from = cell.run === run ? read : 0;
      const begun = cell.run === run ? length : 0;
      const rows = outputs.all("where cell_id = ? and number >= ? order by number", cellId, Math.max(0, from - 1));
      const given = rows.flatMap((row): CellOutput[] => {
        if (row.number >= from) return [outputOf(row)];
        return row.stream !== "" && row.content.length > begun ? [outputOf({ ...row, content: row.content.slice(begun) })] : [];
      });
      const last = rows.at(-1);
      const cursor = { run: cell.run, outputs: last ? last.number + 1 : from, length: last?.stream ? last.content.length : 0 };
      return { cell, outputs: given, cursor, isOtherRun: cell.run !== run };
    },

    async outputLength(notebookId) {
      return countOf(
        "select sum(length(content)) as n from notebook_output where cell_id in (select id from notebook_cell where notebook_id = ?)",
        notebookId,
      );
    },

    queueCell: (notebookId, kernelId, cellId) =>
      writer.write(() => {
        const cell = cellOf(notebookId, cellId);
        if (cell?.kind !== "code") return "missing";
        if (isOpen(cell.state)) return "open";
        if (!running(notebookId, kernelId)) return "ended";
        outputs.remove("where cell_id = ?", cellId);
        const queuedAs = countOf("select max(queued_as) as n from notebook_cell where notebook_id = ?", notebookId) + 1;
        const never = { executionCount: undefined, startedAt: undefined, endedAt: undefined };
        return patchCell(cell, { ...never, state: "queued", run: cell.run + 1, queuedAs });
      }),

    unqueueCells: (notebookId, cellId) =>
      writer.write(() => {
        const queued = "where notebook_id = $key and state = 'queued' and ($only is null or id = $only)";
        const taken = cells.update({ state: "idle" }, queued, { key: notebookId, only: cellId ?? null });
        if (taken > 0) changed(notebookId);
        return taken;
      }),

    startKernel: (notebookId, kernel) =>
      writer.write(() => {
        if (!notebooks.one("where id = ?", notebookId) || running(notebookId)) return false;
        const unbegun = { state: "starting", process: "", executions: 0, endedAt: undefined, end: "", asked: "" } as const;
        changed(notebookId, { kernel: { ...kernel, ...unbegun, startedAt: now() } });
        return true;
      }),

    kernelReady: (notebookId, kernelId, process) =>
      writer.write(() => {
        const kernel = running(notebookId, kernelId);
        if (kernel) patchKernel(notebookId, kernel, { state: "idle", process });
        return kernel !== undefined;
      }),

    askKernel: (notebookId, asked) =>
      writer.write(() => {
        const kernel = running(notebookId);
        if (kernel && kernel.asked !== "stop") patchKernel(notebookId, kernel, { asked });
        return kernel !== undefined;
      }),

    takeAsked: (notebookId, kernelId) =>
      writer.write(() => {
        const kernel = running(notebookId, kernelId);
        if (!kernel || kernel.asked === "") return "";
        patchKernel(notebookId, kernel, { asked: "" });
        return kernel.asked;
      }),

    beginCell: (notebookId, kernelId) =>
      writer.write(() => {
        const kernel = running(notebookId, kernelId);
        const row = kernel && cells.one("where notebook_id = ? and state = 'queued' order by queued_as limit 1", notebookId);
        if (!kernel || !row) return undefined;
        const executions = kernel.executions + 1;
        patchKernel(notebookId, kernel, { state: "busy", executions });
        return patchCell(shown(row), { state: "running", executionCount: executions, startedAt: now() });
      }),

    addOutputs: (notebookId, kernelId, which, added) =>
      writer.write(() => {
        const cell = runningCell(notebookId, kernelId, which);
        if (cell) append(cell.id, added);
        return cell !== undefined;
      }),

    endCell: (notebookId, kernelId, which, state) =>
      writer.write(() => {
        const cell = runningCell(notebookId, kernelId, which);
        const kernel = running(notebookId, kernelId);
        if (!cell || !kernel) return false;
        patchCell(cell, { state, endedAt: now() });
        patchKernel(notebookId, kernel, { state: "idle" });
        return true;
      }),

    endKernel: (notebookId, kernelId, end, error) =>
      writer.write(() => {
        const kernel = running(notebookId, kernelId);
        if (!kernel) return false;
        for (const cell of cells.all("where notebook_id = ? and state in ('running', 'queued')", notebookId)) {
          append(cell.id, [{ kind: "error", name: "KernelEnded", message: error, traceback: "" }]);
          cells.update({ state: "failed", endedAt: now() }, "where id = $key", { key: cell.id });
        }
        patchKernel(notebookId, kernel, { state: "ended", endedAt: now(), end, asked: "" });
        return true;
      }),

    async kernelsOf(node) {
      return notebooks
        .all("where kernel is not null and json_extract(kernel, '$.state') <> 'ended' and json_extract(kernel, '$.node') = ?", node)
        .flatMap(({ id, kernel }) => (kernel ? [{ notebookId: id, kernel }] : []));
    },
  };
}

function outputOf({ stream, content }: OutputRow): CellOutput {
  return stream === "" ? (JSON.parse(content) as CellOutput) : { kind: "stream", stream, text: content };
}
