/** Traffic as YAML, and the warning about weights that do not make a whole. */

import type { TrafficTag } from "../../../gen/svc/v1/traffic_pb.ts";
import type { Context } from "../../context/context.ts";
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

/** The answer; weights that do not sum to 100 are warned of. */
export function warned({ progress }: Pick<Context, "progress">, answer: TagsAnswer): TagsAnswer {
  const sum = answer.tags.reduce((total, { weight }) => total + (weight ?? 0), 0);
  if (sum === 0) progress.warn("no tag has a weight above 0: the live deployment answers all queries");
  else if (sum !== 100) progress.warn(`the weights sum to ${sum}, not 100: queries are shared in proportion to them`);
  return answer;
}
