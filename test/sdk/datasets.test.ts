/** Datasets as the Python client loads them: by pyarrow, pandas and polars, which read the files apart. */

import { expect, test } from "bun:test";
import { tempFolder } from "../client/test-context.ts";
import { runCommand, startPlatform } from "../commands/platform.ts";
import { lacks } from "../harness/needs.ts";
import { SDK_ROOT } from "./interpreters.ts";

const absent = ["pandas", "polars", "pyarrow"].filter((library) =>
  lacks(library, Bun.spawnSync(["python3", "-c", `import ${library}`], { stderr: "ignore" }).success),
);

const WRITE = `
import datetime as dt, decimal, pyarrow as pa, pyarrow.parquet as pq
utc = dt.timezone.utc
columns = {
    "n": pa.array([1, None, 2**62], pa.int64()),
    "f": pa.array([0.5, float("inf"), None], pa.float64()),
    "s": pa.array(["\\u00fc\\U0001f600", None, ""], pa.string()),
    "b": pa.array([True, False, None], pa.bool_()),
    "raw": pa.array([b"\\x00\\xff", None, b""], pa.binary()),
    "d": pa.array([dt.date(1, 1, 1), None, dt.date(9999, 12, 31)], pa.date32()),
    "at": pa.array([dt.datetime(2024, 1, 1, 1, 2, 3, 4, utc), None, dt.datetime(1970, 1, 1, tzinfo=utc)], pa.timestamp("us", "UTC")),
    "l": pa.array([[1, None], [], None], pa.list_(pa.int64())),
}
table = pa.table(columns)
pq.write_table(table.slice(0, 2), "p1.parquet")
pq.write_table(table.slice(2), "p2.parquet")
`;

const READ = `
import os, sys, tempfile
import pandas, polars, pyarrow as pa, pyarrow.parquet as pq
from svc.client import ClientError, SvcClient

client = SvcClient()
dataset = client.get_dataset("typed")
given = pa.concat_tables([pq.read_table("p1.parquet"), pq.read_table("p2.parquet")])
assert dataset.to_arrow().equals(given), dataset.to_arrow()
pandas.testing.assert_frame_equal(dataset.to_pandas(), given.to_pandas())
assert dataset.to_polars().equals(polars.concat([polars.read_parquet(path) for path in ("p1.parquet", "p2.parquet")]))
assert (dataset.name, dataset.revision.rows, [each.number for each in dataset.revisions]) == ("typed", 3, [1])
assert client.get_dataset(dataset.revision.id).revision.id == dataset.revision.id

with tempfile.TemporaryDirectory() as folder:
    paths = dataset.download(folder)
    assert [open(path, "rb").read() for path in paths] == [open(path, "rb").read() for path in ("p1.parquet", "p2.parquet")]
    assert sorted(os.listdir(folder)) == ["p1.parquet", "p2.parquet"]
    assert dataset.download(folder) == paths
    open(paths[0], "ab").write(b"x")
    try:
        dataset.download(folder)
        raise AssertionError("a file was written over")
    except FileExistsError:
        pass

text = client.get_dataset("text")
assert text.to_pandas().to_dict("list") == {"id": [1, 2], "name": ["x", "y"]}, text.to_pandas()
assert len(text.download(tempfile.mkdtemp())) == 1 and len(text.download(tempfile.mkdtemp(), include_givens=True)) == 2
for wanted, error, says in [("none", ClientError, "There is no dataset"), ("other", ValueError, "holds no table")]:
    try:
        client.get_dataset(wanted).to_arrow()
        raise AssertionError(wanted)
    except error as raised:
        assert says in str(raised), raised
`;

test.skipIf(absent.length > 0)(
  "datasets are loaded as they were uploaded",
  async () => {
    const platform = await startPlatform();
    try {
      const dir = tempFolder("svc-datasets-");
      const env = { ...platform.env, HOME: platform.home, PATH: process.env.PATH ?? "", PYTHONPATH: SDK_ROOT };
      const python = async (script: string): Promise<void> => {
        const child = Bun.spawn(["python3", "-B", "-c", script], { cwd: dir, env, stdout: "inherit", stderr: "pipe" });
        const [stderr, exitCode] = await Promise.all([new Response(child.stderr).text(), child.exited]);
        expect(exitCode, stderr).toBe(0);
      };
      await python(WRITE);
      await Bun.write(`${dir}/t.jsonl`, '{"id":1,"name":"x"}\n{"id":2,"name":"y"}\n');
      await Bun.write(`${dir}/o.bin`, "o");
      for (const words of [
        ["p1.parquet", "p2.parquet", "--name", "typed"],
        ["t.jsonl", "--name", "text"],
        ["o.bin", "--name", "other"],
      ]) {
        const done = await runCommand("dataset/upload", words, { ...platform, dir });
        expect([done.exitCode, done.stderr]).toEqual([0, expect.not.stringContaining("Error")]);
      }
      await python(READ);
    } finally {
      await platform.server.stop();
    }
  },
  300_000,
);
