/** Workers of deployments in containers, as builds ask for them. */

import type { WorkerContainer } from "../../domain/worker-container.ts";
import type { Launch } from "../python/launch.ts";

/** Workers that are to run in containers. */
export interface WorkerContainerWish {
  readonly environmentId: string;
  readonly deploymentId: string;
  /** Venv whose workers they are; empty = they are of the deployment's own requirements. */
  readonly venv: string;
  /** Text of the requirements; empty = none. */
  readonly requirements: string;
  /** Folder of the deployment's source. */
  readonly root: string;
  readonly container: WorkerContainer;
  readonly onLine: (line: string) => void;
}

/** How they are started. */
export interface ContainerRuntime {
  /** The Python of the image. */
  readonly python: string;
  readonly launch: Launch;
}

/** What makes an image ready for workers. Rejects with Failure, or with the signal's reason. */
export type WorkerContainers = (wish: WorkerContainerWish, signal: AbortSignal) => Promise<ContainerRuntime>;
