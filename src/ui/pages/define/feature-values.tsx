import type { FeatureStatisticsJson } from "../../../../gen/svc/v1/graph_pb.ts";
import { driftWord } from "../../../domain/drift.ts";
import { useMay } from "../../app/who.ts";
import { Bars } from "../../parts/bars.tsx";
import { Duration } from "../../parts/duration.tsx";
import { Facts } from "../../parts/facts.tsx";
import { figureText } from "../../parts/figure-text.ts";
import { Histogram } from "../../parts/histogram.tsx";
import { Status, type Tone } from "../../parts/status.tsx";
import { distributionOf, shareText } from "./value-distribution.ts";

const TONES: Readonly<Record<ReturnType<typeof driftWord>, Tone>> = { "as before": "good", moved: "warn", "moved far": "bad" };

/** What queries were answered of a feature in the last day, and how its values lie. */
export function FeatureValues({ isPersonal, statistics }: { readonly isPersonal: boolean; readonly statistics?: FeatureStatisticsJson }) {
  if (!statistics) return <p class="dim">No query has asked for it in the last day.</p>;
  const { count = "0", drift, errors = "0", medianAgeSeconds, nulls = "0", sampled = "0" } = statistics;
  const number = (value: number | string | undefined) => (typeof value === "number" ? value : undefined);
  const [index, age] = [number(drift), number(medianAgeSeconds)];
  return (
    <>
      <Facts
        facts={[
          [
            "Asked for",
            <span key="" class="figure">
              {figureText(Number(count))}
            </span>,
          ],
          ["Null", shareText(nulls, count)],
          ["Failed", errors === "0" ? "none" : shareText(errors, count)],
          [
            "Age of stored values",
            age !== undefined && (
              <>
                <Duration ms={age * 1_000} /> (median)
              </>
            ),
          ],
          [
            "Against the week before",
            index !== undefined && <Status tone={TONES[driftWord(index)]}>{`${driftWord(index)} (${figureText(index)})`}</Status>,
          ],
          ["Sampled", sampled !== "0" && figureText(Number(sampled))],
        ]}
      />
      <Distribution statistics={statistics} isPersonal={isPersonal} />
    </>
  );
}

function Distribution({ isPersonal, statistics }: { readonly statistics: FeatureStatisticsJson; readonly isPersonal: boolean }) {
  const may = useMay("query.offline");
  const { buckets, quantiles, values } = distributionOf(statistics);
  if (isPersonal)
    return <p class="dim">Its values are personal (tag pii): they are not sampled, so that nothing shows how they lie or move.</p>;
  if (!may) return <p class="dim">How its values lie is for those with the permission query.offline.</p>;
  if (statistics.sampled === undefined) return <p class="dim">None of its values was sampled, such as of relations and lists.</p>;
  return (
    <>
      {buckets.length > 0 && <Histogram label="Values" buckets={buckets} />}
      {quantiles.length > 0 && (
        <table class="quantiles" aria-label="Quantiles">
          <thead>
            <tr>
              {quantiles.map(([name]) => (
                <th key={name} scope="col">
                  {name}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            <tr>
              {quantiles.map(([name, value]) => (
                <td key={name}>{figureText(value)}</td>
              ))}
            </tr>
          </tbody>
        </table>
      )}
      {values.length > 0 && <Bars label="Most frequent values" bars={values} />}
    </>
  );
}
