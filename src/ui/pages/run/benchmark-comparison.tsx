import type { BenchmarkJson, CompareBenchmarksResponseJson } from "../../../../gen/svc/v1/benchmark_pb.ts";
import { changeText, medianText } from "../../../domain/load/difference-text.ts";
import { visibleLines } from "../../../domain/visible.ts";
import { useAnswer } from "../../api/load.ts";
import { useCommand } from "../../app/command.ts";
import { queried, setQueried } from "../../app/place.ts";
import { environmentScope } from "../../app/who.ts";
import { Command } from "../../parts/command.tsx";
import { Loading } from "../../parts/loading.tsx";
import { Status } from "../../parts/status.tsx";
import { localText } from "../../parts/time-text.ts";
import { WindowTable } from "../../parts/window-table.tsx";
import { askedText, intervalText, verdictOf } from "./benchmark-text.ts";

/** As many as the server keeps. */
const PAGE_SIZE = 200;

/** How a benchmark differs from another one, which is chosen here. */
export function BenchmarkComparison({ of: { id = "" } }: { readonly of: BenchmarkJson }) {
  const answer = useAnswer("BenchmarkService/ListBenchmarks", { pageSize: PAGE_SIZE }, environmentScope.value);
  const others = (answer.data?.benchmarks ?? []).filter((one) => one.result !== undefined && one.id !== id);
  const chosen = queried("with");
  if (others.length === 0 && chosen === "") return null;
  return (
    <>
      <h2>Comparison</h2>
      <label class="field">
        <span>With</span>
        <select value={chosen} onChange={({ currentTarget }) => setQueried({ with: currentTarget.value })}>
          <option value="">no other benchmark</option>
          {others.map(({ createdAt = "", id: other, plan = {} }) => (
            <option key={other} value={other}>
              {`${localText(Date.parse(createdAt))}, ${Number(plan.qps ?? 0)} a second, ${visibleLines(askedText(plan))}`}
            </option>
          ))}
        </select>
      </label>
      {chosen !== "" && <Compared base={chosen} other={id} />}
    </>
  );
}

function Compared({ base, other }: { readonly base: string; readonly other: string }) {
  const command = useCommand();
  const answer = useAnswer("BenchmarkService/CompareBenchmarks", { baseId: base, otherId: other }, environmentScope.value);
  return (
    <>
      <Loading of={answer} lines={6}>
        {(compared) => <Differences of={compared} />}
      </Loading>
      <Command line={command("benchmark", "compare", base, other)} />
    </>
  );
}

function Differences({ of: { caveats = [], differences = [], method = "" } }: { readonly of: CompareBenchmarksResponseJson }) {
  return (
    <>
      {caveats.map((caveat) => (
        <p key={caveat}>
          <Status tone="warn">{visibleLines(caveat)}</Status>
        </p>
      ))}
      <WindowTable
        label="Differences by percentile"
        columns={[
          { name: "percent", title: "Latency", width: "6rem", cell: ({ percent = 0 }) => `p${Number(percent)}` },
          { name: "base", title: "Other ms", width: "7rem", isNumber: true, cell: ({ baseMs }) => medianText(Number(baseMs ?? 0)) },
          { name: "here", title: "Here ms", width: "7rem", isNumber: true, cell: ({ otherMs }) => medianText(Number(otherMs ?? 0)) },
          {
            name: "change",
            title: "Change",
            width: "7rem",
            isNumber: true,
            cell: ({ baseMs = 0, change = 0, otherMs = 0 }) =>
              Number(baseMs) > 0 && Number(otherMs) > 0 ? changeText(Number(change)) : "",
          },
          { name: "interval", title: "Interval", width: "12rem", cell: intervalText },
          {
            name: "verdict",
            title: "Verdict",
            width: "24rem",
            cell: (difference) => {
              const { text, tone } = verdictOf(difference);
              return <Status tone={tone}>{text}</Status>;
            },
          },
        ]}
        rows={differences}
        keyOf={({ percent = 0 }) => String(percent)}
      />
      <p class="dim">{visibleLines(method)}</p>
    </>
  );
}
