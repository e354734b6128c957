import type { ContainerUseJson } from "../../../../gen/svc/v1/container_pb.ts";
import type { MetricSeriesJson } from "../../../../gen/svc/v1/metric_pb.ts";
import { useAnswer } from "../../api/load.ts";
import { environmentScope } from "../../app/who.ts";
import { Bytes } from "../../parts/bytes.tsx";
import { Sparkline } from "../../parts/sparkline.tsx";
import type { Column } from "../../parts/window-table.tsx";
import { valuesOf } from "../define/last-hour.ts";

/** What containers or sandboxes used in the last hour, by name, and the way to ask anew. */
export interface RecentUse {
  readonly processors: readonly MetricSeriesJson[];
  readonly memory: readonly MetricSeriesJson[];
  readonly reload: () => void;
}

/** The use of all containers or sandboxes in the last hour. */
export function useRecentUse(kind: "container" | "sandbox"): RecentUse {
  const ask = (metric: string) => ({ expression: `sum:${metric}{kind:${kind}} by {container}` });
  const processors = useAnswer("MetricService/QueryMetric", ask("container.cpu"), environmentScope.value);
  const memory = useAnswer("MetricService/QueryMetric", ask("container.memory"), environmentScope.value);
  return {
    processors: processors.data?.series ?? [],
    memory: memory.data?.series ?? [],
    reload() {
      processors.reload();
      memory.reload();
    },
  };
}

/** What has a name and may use something. */
interface Using {
  readonly name?: string;
  readonly use?: ContainerUseJson;
}

/** Processors that are in use now, beside their last hour. */
function ProcessorsNow({ name = "", recent, use }: Using & { readonly recent: RecentUse }) {
  if (!use) return null;
  return (
    <Now
      figure={use.processors === undefined ? "" : processorsText(use.processors)}
      label="Processors in the last hour"
      of={recent.processors}
      name={name}
    />
  );
}

/** Memory that is in use now, beside its last hour. */
function MemoryNow({ name = "", recent, use }: Using & { readonly recent: RecentUse }) {
  if (!use) return null;
  return <Now figure={<Bytes count={Number(use.memoryBytes ?? 0)} />} label="Memory in the last hour" of={recent.memory} name={name} />;
}

interface NowParts {
  readonly figure: preact.ComponentChildren;
  readonly label: string;
  readonly of: readonly MetricSeriesJson[];
  readonly name: string;
}

function Now({ figure, label, name, of }: NowParts) {
  const own = of.filter(({ labels }) => labels?.container === name);
  return (
    <span class="now">
      <span class="figure">{figure}</span>
      {own.length > 0 && <Sparkline label={label} values={valuesOf(own)} width={80} height={20} />}
    </span>
  );
}

/** Columns of what is used. */
export function useColumns(recent: RecentUse): readonly Column<Using>[] {
  return [
    { name: "processors", title: "Processors", width: "9.5rem", cell: (row) => <ProcessorsNow {...row} recent={recent} /> },
    { name: "memory", title: "Memory", width: "10.5rem", cell: (row) => <MemoryNow {...row} recent={recent} /> },
  ];
}

/** A number of processors to a thousandth: one that idles uses little, not none. */
function processorsText(processors: number | string): string {
  return String(Number(Number(processors).toFixed(3)));
}

/** What one uses now, in words; false before it was measured. */
export function useFact({ use }: Using) {
  if (!use) return false;
  const { memoryBytes = "0", processors } = use;
  return (
    <>
      {processors !== undefined && `${processorsText(processors)} processors, `}
      <Bytes count={Number(memoryBytes)} /> of memory
    </>
  );
}
