/** The specs of components as YAML. */

import type { DescribeComponentResponse } from "../../../gen/svc/v1/infra_pb.ts";
import { yamlView } from "../../output/yaml-view.ts";

/** A component's spec, with what is measured in `status`. */
export const specView = yamlView(({ spec }: DescribeComponentResponse) => JSON.parse(spec));
