/** Graphs of deployments, as bytes. */

/** Graphs. */
export interface GraphStore {
  /** Stores the graph (binary protobuf) of a deployment, replacing an earlier one. */
  putGraph(deploymentId: string, graph: Uint8Array): Promise<void>;
  graph(deploymentId: string): Promise<Uint8Array | undefined>;
}
