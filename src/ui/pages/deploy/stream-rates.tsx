import type { MetricSeriesJson } from "../../../../gen/svc/v1/metric_pb.ts";
import { Sparkline } from "../../parts/sparkline.tsx";
import { valuesOf } from "../define/last-hour.ts";

interface StreamRatesParts {
  readonly name: string;
  /** Messages that streams read, and how far behind they were, in the last hour. */
  readonly messages: readonly MetricSeriesJson[];
  readonly lag: readonly MetricSeriesJson[];
}

/** What a stream read in the last hour, and how far behind it was. */
export function StreamRates({ lag, messages, name }: StreamRatesParts) {
  const own = (series: readonly MetricSeriesJson[]) => series.filter(({ labels }) => labels?.stream === name);
  const [read, behind] = [own(messages), own(lag)];
  return (
    <>
      {read.length > 0 && <Sparkline label="Messages in the last hour" values={valuesOf(read)} width={140} height={22} />}
      <br />
      {behind.length > 0 && <Sparkline label="Lag in the last hour" values={valuesOf(behind)} width={140} height={22} />}
    </>
  );
}
