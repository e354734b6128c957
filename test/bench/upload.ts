/** Uploads of values from a file, against writing the same file. */

import { join } from "node:path";
import { create } from "@bufbuild/protobuf";
import { DataTypeSchema, PrimitiveType } from "../../gen/svc/v1/value_pb.ts";
import { formatMicros } from "../../src/domain/timestamp.ts";
import { createLog } from "../../src/server/log.ts";
import { createTableEngine } from "../../src/server/tables/create-table-engine.ts";
import { TestClock } from "../harness/running-server.ts";
import type { Sandbox } from "../harness/sandbox.ts";
import { interleave, type Line, median, milliseconds } from "./figures.ts";
import { processorMsOfAll } from "./processor-time.ts";

const ROWS = 1_000_000;
const CHUNK_ROWS = 50_000;
const PROJECT = {
  "svc.yaml": "project: bench\nenvironments:\n  default:\n    runtime: python311\n",
  "features.py": `from svc.features import features

@features
class User:
    id: int
    score: float
`,
};

/** A million rows of a feature into the history, from Parquet. */
export async function measureUpload(sandbox: Sandbox, rounds: number): Promise<readonly Line[]> {
  await sandbox.startServer({});
  const project = await sandbox.write(PROJECT, "project");
  const applied = await sandbox.svc(["apply", "--force", "--await"], { cwd: project });
  if (applied.exitCode !== 0) throw new Error(applied.stderr);
  const path = join(project, "values.parquet");
  const log = createLog({ write: () => undefined, clock: new TestClock() });
  const engine = createTableEngine({ folder: join(project, "tables"), libraryFolders: [join(project, "library")], log });
  const primitive = (value: PrimitiveType) => create(DataTypeSchema, { kind: { case: "primitive", value } });
  const types = { "user.id": PrimitiveType.INT64, "user.score": PrimitiveType.FLOAT64, __ts__: PrimitiveType.DATETIME };
  const start = Date.now() - ROWS * 1_000;
  let seconds = 0;

  const write = async (): Promise<number> => {
    const began = performance.now();
    const writer = await engine.write(
      path,
      Object.entries(types).map(([name, type]) => ({ name, dtype: primitive(type) })),
    );
    for (let from = 0; from < ROWS; from += CHUNK_ROWS) {
      const rows = Array.from({ length: CHUNK_ROWS }, (_, at) => from + at);
      const times = rows.map((row) => formatMicros(BigInt(start + (row + seconds) * 1_000) * 1_000n));
      await writer.append({ rows: CHUNK_ROWS, columns: [rows.map((row) => row % 100_000), rows.map((row) => row / 2), times] });
    }
    await writer.finish();
    seconds++;
    return performance.now() - began;
  };
  const { pid } = JSON.parse((await sandbox.svc(["server", "status", "--json"])).stdout) as { pid: number };
  const processor: number[] = [];
  const upload = async (): Promise<number> => {
    const began = performance.now();
    const before = processorMsOfAll(pid);
    const outcome = await sandbox.svc(["upload", path, "--offline-only", "--json"], { cwd: project });
    if (outcome.exitCode !== 0 || !outcome.stdout.includes(`"offline_values": ${ROWS}`)) throw new Error(outcome.stdout + outcome.stderr);
    processor.push(processorMsOfAll(pid) - before);
    return performance.now() - began;
  };
  await write();
  const times = await interleave(Math.min(rounds, 2), { write, upload });
  await engine.close();
  const anchor = median(times.write);
  const uploading = median(times.upload);
  const used = median(processor);
  return [
    { what: `${ROWS} rows written as Parquet`, value: milliseconds(anchor) },
    {
      what: `the same uploaded into the history, checked and written: ${Math.round(ROWS / uploading)},000 rows/s`,
      value: milliseconds(uploading),
      ratio: uploading / anchor,
      anchor: "of writing the file",
    },
    { what: `time of all processors that the server took for it: ${Math.round(ROWS / used)},000 rows/s`, value: milliseconds(used) },
  ];
}
