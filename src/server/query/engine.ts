/** What the query engine and the server around it share: the deployment that is asked, and the record of a query. */

import type { Graph } from "../../../gen/svc/v1/graph_pb.ts";
import type { PythonPool } from "../python/pool.ts";
import type { SqlSources } from "../sql/source.ts";
import type { OnlineStore } from "../stores/online.ts";
import type { ValueSink } from "../writes/sink.ts";

/** A deployment that answers queries. */
export interface LiveDeployment {
  readonly id: string;
  readonly environmentId: string;
  readonly environmentName: string;
  /** Scope in the online store: `main` or the branch's name. */
  readonly scope: string;
  readonly graph: Graph;
  /** Online-store id of every scalar feature, by FQN. */
  readonly featureIds: ReadonlyMap<string, number>;
  readonly pool: PythonPool;
  readonly sources: SqlSources;
  readonly online: OnlineStore;
  /** Takes what is computed, for the offline store; undefined = nothing is kept there. */
  readonly sink?: ValueSink | undefined;
}

/** A request that is wrong as a whole; services turn it into INVALID_ARGUMENT with an ErrorDetail. */
export { QueryRefused } from "./refusal.ts";
