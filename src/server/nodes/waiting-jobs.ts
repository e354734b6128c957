/** The number of jobs that wait, sampled by one node for all. */

import type { MetricRecorder } from "../metrics/recorder.ts";
import type { JobStore, WaitingJobs } from "../stores/metadata/jobs.ts";
import type { NodeStore } from "../stores/metadata/nodes.ts";
import { GONE_AFTER_MS } from "./presence.ts";

/** Most jobs of a kind that are counted: where more wait, the number matters no longer. */
const MOST_COUNTED = 10_000;

/**
 * Has the node that has run longest sample how many jobs wait, by kind and environment. Where jobs
 * waited and none do any more, it samples zero.
 */
export function sampleWaitingJobs(parts: {
  readonly jobs: Pick<JobStore, "waiting">;
  readonly nodes: Pick<NodeStore, "list">;
  readonly node: () => string;
  readonly metrics: MetricRecorder;
}): void {
  const { jobs, nodes, node, metrics } = parts;
  let before = new Map<string, WaitingJobs>();
  metrics.sample(async () => {
    const [oldest] = await nodes.list(GONE_AFTER_MS);
    const isMine = oldest?.id === node();
    const waiting = new Map((isMine ? await jobs.waiting(MOST_COUNTED) : []).map((one) => [`${one.kind} ${one.environmentId}`, one]));
    if (isMine)
      for (const [key, { kind, environmentId }] of [...before, ...waiting])
        metrics.gauge("job.waiting", environmentId, { kind }).set(waiting.get(key)?.jobs ?? 0);
    before = waiting;
  });
}
