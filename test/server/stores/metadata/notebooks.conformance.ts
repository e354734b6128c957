/** What the notebooks of every metadata store must do. */

import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import type { CellOutput } from "../../../../src/domain/notebook/notebook.ts";
import type { ImportedCell, NewNotebook } from "../../../../src/server/stores/metadata/notebooks.ts";
import type { MetadataStore } from "../../../../src/server/stores/metadata/store.ts";
import { TempFolder } from "../../../harness/running-server.ts";
import type { Driver } from "../driver.ts";

const START = 1_700_000_000_000;

/** Runs the suite against a driver. */
export function notebooksConformance(driver: Driver<MetadataStore>): void {
  describe(`notebooks: ${driver.name}`, () => {
    let folder: TempFolder;
    let store: MetadataStore;
    let now = START;
    const notebook = (id: string, patch: Partial<NewNotebook> = {}): NewNotebook => ({
      ...{ id, environmentId: "env_1", title: `title of ${id}`, description: "d", createdBy: "client_1", ...patch },
    });
    const code = (id: string, source = id): ImportedCell => ({ id, kind: "code", source, executionCount: undefined, outputs: [] });
    const create = (id: string, cells: readonly ImportedCell[] = [], patch: Partial<NewNotebook> = {}, limit = 100) =>
      store.notebooks.create(notebook(id, patch), cells, limit);
    const kernel = (id: string, node = "node_1") => ({ id, node, deploymentId: "dpl_1", branch: "b" });
    /** A notebook with cells and a kernel that can run them. */
    const ready = async (...cells: readonly string[]): Promise<void> => {
      await create(
        "nb_1",
        cells.map((id) => code(id)),
      );
      await store.notebooks.startKernel("nb_1", kernel("krn_1"));
      await store.notebooks.kernelReady("nb_1", "krn_1", "kernel-1");
    };
    const queue = (...cells: readonly string[]) => Promise.all(cells.map((id) => store.notebooks.queueCell("nb_1", "krn_1", id)));
    const begin = async () => {
      const cell = await store.notebooks.beginCell("nb_1", "krn_1");
      if (!cell) throw new Error("no cell waits");
      return cell;
    };
    const out = (text: string): CellOutput => ({ kind: "stream", stream: "stdout", text });
    const result: CellOutput = { kind: "result", data: { "text/plain": "1", "text/html": "<b>1</b>" } };
    const order = async () => (await store.notebooks.cells("nb_1")).map(({ id }) => id);

    beforeEach(async () => {
      now = START;
      folder = new TempFolder();
      store = await driver.open(folder.path, { now: () => now });
    });
    afterEach(async () => {
      await store.close();
      folder[Symbol.dispose]();
    });

    test("a notebook is stored with its cells and what they gave, in their order", async () => {
      const given = { ...code("c_2"), executionCount: 7, outputs: [out("a"), result] };
      expect(await create("nb_1", [{ ...code("c_1"), kind: "markdown" }, given])).toBe("stored");
      await store.close();
      store = await driver.open(folder.path, { now: () => now });
      expect(await store.notebooks.notebook("nb_1")).toEqual({
        ...notebook("nb_1"),
        ...{ kernel: undefined, cellCount: 2, createdAt: START, updatedAt: START },
      });
      expect(await store.notebooks.cells("nb_1")).toMatchObject([
        { id: "c_1", kind: "markdown", source: "c_1", state: "idle", run: 0, executionCount: undefined },
        { id: "c_2", kind: "code", executionCount: 7, startedAt: undefined },
      ]);
      expect(await store.notebooks.outputs("c_2")).toEqual([out("a"), result]);
      expect(await store.notebooks.outputLength("nb_1")).toBeGreaterThan(20);
      expect(await store.notebooks.notebook("nb_9")).toBeUndefined();
      expect(await store.notebooks.cell("nb_2", "c_1")).toBeUndefined();
    });

    test("titles are unique in an environment, and notebooks are bounded there", async () => {
      await create("nb_1", [], { title: "t" });
      expect(await create("nb_2", [], { title: "t" })).toBe("taken");
      expect(await create("nb_2", [], {}, 1)).toBe("full");
      expect(await create("nb_2", [], { title: "t", environmentId: "env_2" }, 1)).toBe("stored");
      expect((await store.notebooks.titled("env_2", "t"))?.id).toBe("nb_2");
      expect(await store.notebooks.titled("env_3", "t")).toBeUndefined();
    });

    test("a list has the newest first, and goes on after a notebook", async () => {
      for (const id of ["nb_1", "nb_2", "nb_3"]) await create(id);
      await create("nb_4", [], { environmentId: "env_2" });
      const ids = async (filter: object) =>
        (await store.notebooks.list({ environmentId: "env_1", limit: 2, ...filter })).map(({ id }) => id);
      expect(await ids({})).toEqual(["nb_3", "nb_2"]);
      expect(await ids({ before: "nb_2" })).toEqual(["nb_1"]);
    });

    test("a notebook is removed with its cells, and an environment with its notebooks", async () => {
      await create("nb_1", [{ ...code("c_1"), outputs: [result] }]);
      expect(await store.notebooks.remove("nb_1")).toBe(true);
      expect(await store.notebooks.remove("nb_1")).toBe(false);
      expect(await store.notebooks.cell("nb_1", "c_1")).toBeUndefined();
      expect(await store.notebooks.outputs("c_1")).toEqual([]);
    });

    test("cells are added at a place, moved, edited and removed", async () => {
      await create("nb_1", [code("a"), code("b")]);
      const add = (id: string, place: number, limit = 9) => store.notebooks.addCell("nb_1", code(id), place, limit);
      now += 5;
      expect(await add("c", 1)).toMatchObject({ id: "c", state: "idle" });
      expect(await add("d", 99)).toMatchObject({ id: "d" });
      expect(await order()).toEqual(["a", "c", "b", "d"]);
      expect(await add("e", 0, 4)).toBe("full");
      expect(await store.notebooks.addCell("nb_9", code("e"), 0, 9)).toBe("missing");
      expect(await store.notebooks.notebook("nb_1")).toMatchObject({ cellCount: 4, updatedAt: START + 5 });
      expect(await store.notebooks.moveCell("nb_1", "d", 0)).toBe(true);
      expect(await store.notebooks.moveCell("nb_1", "a", 99)).toBe(true);
      expect(await store.notebooks.moveCell("nb_1", "x", 0)).toBe(false);
      expect(await order()).toEqual(["d", "c", "b", "a"]);
      expect(await store.notebooks.editCell("nb_1", "c", "new")).toMatchObject({ source: "new" });
      expect(await store.notebooks.editCell("nb_1", "x", "new")).toBe("missing");
      expect(await store.notebooks.removeCell("nb_1", "c")).toMatchObject({ id: "c" });
      expect(await store.notebooks.removeCell("nb_1", "c")).toBe("missing");
      expect(await order()).toEqual(["d", "b", "a"]);
      expect((await store.notebooks.notebook("nb_1"))?.cellCount).toBe(3);
      await add("f", 1);
      expect(await order()).toEqual(["d", "f", "b", "a"]);
    });

    test("there is one kernel that has not ended", async () => {
      await create("nb_1");
      expect(await store.notebooks.startKernel("nb_9", kernel("krn_1"))).toBe(false);
      expect(await store.notebooks.startKernel("nb_1", kernel("krn_1"))).toBe(true);
      expect(await store.notebooks.startKernel("nb_1", kernel("krn_2"))).toBe(false);
      expect((await store.notebooks.notebook("nb_1"))?.kernel).toEqual({
        ...kernel("krn_1"),
        ...{ state: "starting", process: "", executions: 0, startedAt: START, endedAt: undefined, end: "", asked: "" },
      });
      expect(await store.notebooks.kernelReady("nb_1", "krn_2", "p")).toBe(false);
      expect(await store.notebooks.kernelReady("nb_1", "krn_1", "p")).toBe(true);
      expect(await store.notebooks.kernelsOf("node_1")).toMatchObject([{ notebookId: "nb_1", kernel: { state: "idle", process: "p" } }]);
      expect(await store.notebooks.kernelsOf("node_2")).toEqual([]);
      expect(await store.notebooks.endKernel("nb_1", "krn_2", "no", "no")).toBe(false);
      now += 5;
      expect(await store.notebooks.endKernel("nb_1", "krn_1", "was stopped", "e")).toBe(true);
      expect(await store.notebooks.endKernel("nb_1", "krn_1", "twice", "e")).toBe(false);
      expect((await store.notebooks.notebook("nb_1"))?.kernel).toMatchObject({ state: "ended", endedAt: START + 5, end: "was stopped" });
      expect(await store.notebooks.kernelsOf("node_1")).toEqual([]);
      expect(await store.notebooks.startKernel("nb_1", kernel("krn_2"))).toBe(true);
    });

    test("what a kernel is asked is answered once; a stop is not taken back", async () => {
      await create("nb_1");
      expect(await store.notebooks.askKernel("nb_1", "stop")).toBe(false);
      await store.notebooks.startKernel("nb_1", kernel("krn_1"));
      expect(await store.notebooks.takeAsked("nb_1", "krn_1")).toBe("");
      expect(await store.notebooks.askKernel("nb_1", "stop")).toBe(true);
      expect(await store.notebooks.askKernel("nb_1", "interrupt")).toBe(true);
      expect(await store.notebooks.takeAsked("nb_1", "krn_2")).toBe("");
      expect(await store.notebooks.takeAsked("nb_1", "krn_1")).toBe("stop");
      expect(await store.notebooks.takeAsked("nb_1", "krn_1")).toBe("");
    });

    test("cells run in the order in which they were queued, numbered by the kernel", async () => {
      await ready("a", "b", "c");
      expect(await queue("b", "a")).toMatchObject([
        { state: "queued", run: 1 },
        { state: "queued", run: 1 },
      ]);
      expect(await queue("b", "x")).toEqual(["open", "missing"]);
      expect(await store.notebooks.queueCell("nb_1", "krn_9", "c")).toBe("ended");
      expect(await store.notebooks.editCell("nb_1", "a", "x")).toBe("open");
      expect(await store.notebooks.removeCell("nb_1", "a")).toBe("open");
      expect(await store.notebooks.beginCell("nb_1", "krn_9")).toBeUndefined();
      const first = await begin();
      expect(first).toMatchObject({ id: "b", state: "running", executionCount: 1, startedAt: START });
      expect((await store.notebooks.notebook("nb_1"))?.kernel?.state).toBe("busy");
      now += 5;
      expect(await store.notebooks.endCell("nb_1", "krn_9", first, "succeeded")).toBe(false);
      expect(await store.notebooks.endCell("nb_1", "krn_1", first, "succeeded")).toBe(true);
      expect(await store.notebooks.endCell("nb_1", "krn_1", first, "failed")).toBe(false);
      expect(await store.notebooks.cell("nb_1", "b")).toMatchObject({ state: "succeeded", endedAt: START + 5 });
      expect(await begin()).toMatchObject({ id: "a", executionCount: 2 });
      expect(await store.notebooks.beginCell("nb_1", "krn_1")).toBeUndefined();
    });

    test("text goes on where it ended, and a cursor reads what is new of a run", async () => {
      await ready("a");
      await queue("a");
      const cell = await begin();
      const add = (...outputs: readonly CellOutput[]) => store.notebooks.addOutputs("nb_1", "krn_1", cell, outputs);
      const error = { kind: "stream", stream: "stderr", text: "e" } as const;
      let cursor = { run: -1, outputs: 0, length: 0 };
      const read = async () => {
        const found = await store.notebooks.outputsAfter("nb_1", "a", cursor);
        if (!found) throw new Error("the cell is gone");
        cursor = found.cursor;
        return found;
      };
      expect(await read()).toMatchObject({ outputs: [], isOtherRun: true, cell: { state: "running" } });
      expect(await add(out("a"), out("b"))).toBe(true);
      await add(out("c"));
      expect(await read()).toMatchObject({ outputs: [out("abc")], isOtherRun: false });
      expect((await read()).outputs).toEqual([]);
      await add(out("d"), error, result);
      expect((await read()).outputs).toEqual([out("d"), error, result]);
      await add(out("f"));
      await add(out("g"));
      expect((await read()).outputs).toEqual([out("fg")]);
      expect(await store.notebooks.outputs("a")).toEqual([out("abcd"), error, result, out("fg")]);
      expect(await store.notebooks.addOutputs("nb_1", "krn_1", { id: "a", run: 2 }, [out("x")])).toBe(false);
      await store.notebooks.endCell("nb_1", "krn_1", cell, "succeeded");
      expect(await add(out("late"))).toBe(false);
      await queue("a");
      expect(await read()).toMatchObject({ outputs: [], isOtherRun: true, cell: { state: "queued", run: 2 } });
      expect(await store.notebooks.outputsAfter("nb_1", "x", cursor)).toBeUndefined();
    });

    test("cells that wait are taken back, all or one", async () => {
      await ready("a", "b", "c");
      await queue("a", "b", "c");
      await begin();
      expect(await store.notebooks.unqueueCells("nb_1", "a")).toBe(0);
      expect(await store.notebooks.unqueueCells("nb_1", "b")).toBe(1);
      expect(await store.notebooks.unqueueCells("nb_1")).toBe(1);
      expect((await store.notebooks.cells("nb_1")).map(({ state }) => state)).toEqual(["running", "idle", "idle"]);
    });

    test("the end of a kernel fails what runs and what waits, with its words", async () => {
      await ready("a", "b", "c");
      await queue("a", "b");
      await begin();
      await store.notebooks.endKernel("nb_1", "krn_1", "exited with code 3", "the kernel exited");
      const failed = [{ kind: "error", name: "KernelEnded", message: "the kernel exited", traceback: "" }] as CellOutput[];
      expect((await store.notebooks.cells("nb_1")).map(({ state }) => state)).toEqual(["failed", "failed", "idle"]);
      expect([await store.notebooks.outputs("a"), await store.notebooks.outputs("b")]).toEqual([failed, failed]);
      expect(await store.notebooks.outputs("c")).toEqual([]);
    });
  });
}
