/** Graphs of deployments, as bytes. */

/** Graphs. */
export interface GraphStore {
  /** Keeps the graph (binary protobuf) of a deployment, in the place of an earlier one. */
  putGraph(deploymentId: string, graph: Uint8Array): Promise<void>;
  graph(deploymentId: string): Promise<Uint8Array | undefined>;
}
