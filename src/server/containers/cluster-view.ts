/**
 * What the cluster of an engine shows of the platform's containers, beside what the platform knows.
 */

import type { EngineCluster, EngineEvent, EnginePod } from "../engines/container-engine.ts";
import type { StoredContainer } from "./container-records.ts";
import { engineName, ID_LABEL } from "./containers.ts";

/** Pods of a cluster by the ids of their containers; none without a cluster. */
export async function podsById(cluster: EngineCluster | undefined): Promise<ReadonlyMap<string, EnginePod>> {
  return new Map((await cluster?.pods())?.map((pod) => [pod.labels[ID_LABEL] ?? "", pod]));
}

/** What a cluster says of containers. */
export async function eventsOf(
  cluster: EngineCluster,
  containers: readonly StoredContainer[],
): Promise<readonly (EngineEvent & { readonly of: StoredContainer })[]> {
  const named = new Map(containers.map((one) => [engineName(one), one]));
  const events = await cluster.events([...named.keys()]);
  return events.flatMap((event) => {
    const of = named.get(event.container);
    return of ? [{ ...event, of }] : [];
  });
}
