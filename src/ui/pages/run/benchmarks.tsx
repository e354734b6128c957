import type { BenchmarkJson } from "../../../../gen/svc/v1/benchmark_pb.ts";
import { escapeControls } from "../../../domain/name.ts";
import { usePages } from "../../api/pages.ts";
import { useCommand } from "../../app/command.ts";
import { useLive } from "../../app/live.ts";
import { href } from "../../app/place.ts";
import { environmentScope } from "../../app/who.ts";
import { Empty } from "../../parts/empty.tsx";
import { Page } from "../../parts/page.tsx";
import { Paged } from "../../parts/paged.tsx";
import { Time } from "../../parts/time.tsx";
import { type Column, WindowTable } from "../../parts/window-table.tsx";
import { askedText, percentileText } from "./benchmark-text.ts";
import { State } from "./state.tsx";

const COLUMNS: readonly Column<BenchmarkJson>[] = [
  {
    name: "id",
    title: "Benchmark",
    width: "20rem",
    cell: ({ id = "" }) => (
      <a class="name" href={href("benchmark", { id })}>
        {escapeControls(id)}
      </a>
    ),
  },
  { name: "state", title: "State", width: "8rem", cell: ({ state }) => <State of={state} prefix="BENCHMARK_STATE_" /> },
  { name: "asked", title: "Queries", width: "12rem", cell: ({ plan = {} }) => escapeControls(askedText(plan)) },
  { name: "qps", title: "A second", width: "5.5rem", isNumber: true, cell: ({ plan }) => Number(plan?.qps ?? 0) },
  { name: "p50", title: "p50 ms", width: "5rem", isNumber: true, cell: ({ result }) => percentileText(result, 50) },
  { name: "p99", title: "p99 ms", width: "5rem", isNumber: true, cell: ({ result }) => percentileText(result, 99) },
  { name: "created", title: "Asked for", width: "8.5rem", cell: ({ createdAt }) => <Time at={createdAt} /> },
];

/** The benchmarks of the environment, newest first. */
export default function Benchmarks() {
  const command = useCommand();
  const pages = usePages(
    "BenchmarkService/ListBenchmarks",
    {},
    environmentScope.value,
    ({ benchmarks = [] }) => benchmarks,
    ({ id = "" }) => id,
  );
  useLive(["runs"], pages.first.reload);
  return (
    <Page title="Benchmarks" command={command("benchmark", "list")}>
      <Paged
        of={pages}
        things="benchmarks"
        empty={
          <Empty command={command("benchmark", "run", "--in", "user.id=1", "--out", "user", "--qps", "50")}>
            There are none yet. A benchmark sends queries at a fixed rate, and counts latencies from when each was due.
          </Empty>
        }
      >
        {(rows) => <WindowTable label="Benchmarks" columns={COLUMNS} rows={rows} keyOf={({ id = "" }) => id} />}
      </Paged>
    </Page>
  );
}
