/** Counters as Prometheus reads them, and as JSON. */

import type { GetStatsResponse } from "../../../gen/svc/v1/infra_pb.ts";
import { openMetricsText } from "../../domain/openmetrics.ts";
import { textView } from "../../output/view.ts";

/** The counters of a component. */
export const statsView = textView(
  ({ families }: Pick<GetStatsResponse, "families">) => openMetricsText(families),
  ({ families }) =>
    families.flatMap(({ name, samples }) => samples.map(({ suffix, labels, value }) => ({ name: `${name}${suffix}`, labels, value }))),
);
