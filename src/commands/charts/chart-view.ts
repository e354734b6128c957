/** Charts that are kept with a project, as people see them. */

import type { Chart } from "../../../gen/svc/v1/metric_pb.ts";
import type { FieldViews } from "../../output/message-view.ts";

/** The fields that people see of a chart. */
export const CHART_FIELDS: FieldViews<Chart> = {
  id: "ID",
  name: "Name",
  series: {
    header: "Shows",
    cell: ({ series }) => series.map(({ expression, name }) => (name === expression ? expression : `${name}=${expression}`)).join(", "),
  },
  range: "Range",
};
