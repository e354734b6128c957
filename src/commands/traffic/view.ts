/** Traffic as YAML. */

import type { TrafficTag } from "../../../gen/svc/v1/traffic_pb.ts";
import { yamlView } from "../../output/yaml-view.ts";

/** An answer with the tags of an environment. */
export interface TagsAnswer {
  readonly tags: readonly TrafficTag[];
}

/** The list `tags` as YAML, with the same keys in JSON. */
export const trafficView = yamlView(({ tags }: TagsAnswer) => ({
  tags: tags.map(({ deploymentId, tag, weight, mirrorWeight }) => ({
    deployment_id: deploymentId,
    tag,
    weight: weight ?? null,
    mirror_weight: mirrorWeight,
  })),
}));
