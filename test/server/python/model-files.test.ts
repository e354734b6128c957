/** `docs/model-files.md`: its model is loaded once in a worker, and computes the rows of a call together. */

import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { lacks } from "../../harness/needs.ts";
import { anyPython, startPool } from "./project.ts";

const PAGE = readFileSync(join(import.meta.dir, "../../../docs/model-files.md"), "utf8");

/** An interpreter that has the runtime. */
async function pythonWithRuntime(): Promise<string | undefined> {
  for (const runtime of ["python313", "python312", "python311", "python310"]) {
    const python = await anyPython(runtime);
    if (python && Bun.spawnSync([python, "-I", "-c", "import onnxruntime"], { stderr: "ignore" }).success) return python;
  }
  return undefined;
}

const python = await pythonWithRuntime();

/** A message of protobuf: fields by their numbers; numbers are varints, others are delimited. */
function proto(...fields: readonly (readonly [number, number | string | Uint8Array])[]): Uint8Array {
  const varint = (value: number): number[] => (value < 128 ? [value] : [(value & 127) | 128, ...varint(value >> 7)]);
  return Uint8Array.from(
    fields.flatMap(([field, value]) => {
      if (typeof value === "number") return [...varint(field << 3), ...varint(value)];
      const bytes = typeof value === "string" ? new TextEncoder().encode(value) : value;
      return [...varint((field << 3) | 2), ...varint(bytes.length), ...bytes];
    }),
  );
}

/** A model in the ONNX format that multiplies its inputs, two for each row, by 0.05 and 0.05. */
function riskModel(): Uint8Array {
  const FLOAT = 1;
  const tensor = (name: string, columns: number): Uint8Array => {
    const shape = proto([1, proto([2, "rows"])], [1, proto([1, columns])]);
    return proto([1, name], [2, proto([1, proto([1, FLOAT], [2, shape])])]);
  };
  const weights = proto([1, 2], [1, 1], [2, FLOAT], [8, "weights"], [9, new Uint8Array(Float32Array.of(0.05, 0.05).buffer)]);
  const node = proto([1, "inputs"], [1, "weights"], [2, "scores"], [4, "MatMul"]);
  const graph = proto([1, node], [2, "risk"], [5, weights], [11, tensor("inputs", 2)], [12, tensor("scores", 1)]);
  return proto([1, 8], [8, proto([2, 13])], [7, graph]);
}

test.skipIf(lacks("onnxruntime", python !== undefined))(
  "a model is loaded once, and computes the rows of a call together",
  async () => {
    const text = PAGE.split("```python file: loans.py\n")[1]?.split("```")[0] ?? "";
    const files = { "loans.py": text, "risk.onnx": riskModel() };
    await using live = await startPool(files, { python: python as string, resolverFqns: ["loans.risk"] });
    const call = () =>
      live.pool.call({
        ...{ resolver: "loans.risk", rows: 2, columns: {}, now: ["2024-05-01T12:00:00.000000Z"], deadlineMs: 300_000 },
        tables: { loans: { "loan.id": [1, 2], "loan.amount": [100, 20.5], "loan.income": [50, 0] } },
        context: { queryId: "q", traceId: "t", tags: [], queryContext: {} },
      });
    for (const { errors, groups } of [await call(), await call()]) {
      expect(errors).toEqual([]);
      expect(groups?.columns["loan.id"]).toEqual([1, 2]);
      expect(groups?.columns["loan.risk"]?.map((risk) => Math.fround(risk as number))).toEqual([7.5, Math.fround(1.025)]);
    }
  },
  300_000,
);

test.skipIf(python === undefined)(
  "a model that cannot be loaded is told of before anything is asked",
  async () => {
    const text = PAGE.split("```python file: loans.py\n")[1]?.split("```")[0] ?? "";
    const starting = startPool({ "loans.py": text }, { python: python as string, resolverFqns: ["loans.risk"] });
    expect(await starting.then(() => "started", String)).toContain("loans.load");
  },
  300_000,
);
