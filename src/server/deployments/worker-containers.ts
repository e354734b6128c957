/** Processes of deployments in containers, as builds and starts ask for them. */

import type { WorkerContainer } from "../../domain/worker-container.ts";
import type { StartContained } from "../processes/program.ts";
import type { Launch } from "../python/launch.ts";

/** Processes that are to run in containers. */
export interface WorkerContainerWish {
  readonly environmentId: string;
  readonly deploymentId: string;
  /** Venv in which they run; empty = they are of the deployment's own requirements. */
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
  /** Starts programs that people run by hand. */
  readonly startContained: StartContained;
}

/** What makes an image ready for processes. Rejects with Failure, or with the signal's reason. */
export type WorkerContainers = (wish: WorkerContainerWish, signal: AbortSignal) => Promise<ContainerRuntime>;
