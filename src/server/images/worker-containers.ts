/** Containers in which the workers of deployments run, where their environment says so. */

import { mkdir } from "node:fs/promises";
import { resourceLimits } from "../containers/container-spec.ts";
import type { WorkerContainers } from "../deployments/worker-containers.ts";
import type { ContainerEngine } from "../engines/container-engine.ts";
import { launchIn, startContainedAt } from "./container-process.ts";
import { PACKAGES } from "./image-spec.ts";
import { type Images, TRANSIENT } from "./images.ts";

/** Makes the capability. @param folder kept while containers may be left behind by a kill */
export function createWorkerContainers(
  images: Images,
  engine: () => ContainerEngine,
  { folder, node }: { readonly folder: string; readonly node: string },
): WorkerContainers {
  return async (wish, signal) => {
    const { container, deploymentId, environmentId, onLine, requirements, root, venv } = wish;
    const { cpu, image: base, memory, network } = container;
    const limits = resourceLimits({ cpu, memory });
    const found = engine();
    await images.resume();
    await mkdir(folder, { recursive: true, mode: 0o700 });
    const name = `image-${deploymentId.replace(/^dpl_/, "")}${venv === "" ? "" : `-${venv}`}`;
    const spec = { base, requirements, root, files: [], env: {}, workdir: "" };
    const image = requirements.trim() === "" ? base : await images.ensure({ environmentId, deploymentId, name, spec, onLine }, signal);
    const { env } = await found.fetchImage(image, signal);
    const user = await found.serverUser(signal);
    const place = { engine: found, user, image, labels: { [TRANSIENT]: node }, ...limits, memory, hasNetwork: network };
    const interpreter = env.VIRTUAL_ENV === PACKAGES ? `${PACKAGES}/bin/python` : "python3";
    return { python: interpreter, launch: launchIn(place), startContained: startContainedAt(place) };
  };
}
