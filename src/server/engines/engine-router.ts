/** One engine before two: that of images, and the server's own machine for the image `host:`. */

import { Failure, StartError } from "../failure.ts";
import type { ContainerEngine } from "./container-engine.ts";
import { isHostId } from "./host/host-files.ts";
import { isHostImage } from "./host/host-image.ts";

/** The variable by which the operator of a server allows `host:`. */
export const HOST_VARIABLE = "SVC_HOST_PROGRAMS";

/** The engines. */
export interface RoutedEngines {
  /** The engine of images. Throws Failure failed_precondition when there is none. */
  readonly images: () => ContainerEngine;
  /** The server's own machine. Throws Failure failed_precondition where that cannot be one. */
  readonly host: () => ContainerEngine;
  /** Whether programs of the machine may be started. */
  readonly isHostAllowed: boolean;
}

/** An engine that answers, or does not, for some images alone. */
export interface EnginePart extends Pick<ContainerEngine, "list"> {
  isOf(image: string): boolean;
}

/** The engine that passes each call to the one that it is for. */
export interface EngineRouter extends ContainerEngine {
  /** Throws Failure failed_precondition when nothing runs an image. */
  require(image: string): void;
  /** What lists the containers of each. */
  readonly parts: readonly EnginePart[];
}

/** Makes the engine. */
export function createEngineRouter({ host, images, isHostAllowed }: RoutedEngines): EngineRouter {
  const of = (id: string): ContainerEngine => (isHostId(id) ? host() : images());
  const parts: readonly EnginePart[] = [
    { isOf: isHostImage, list: async (label, value) => host().list(label, value) },
    { isOf: (image) => !isHostImage(image), list: async (label, value) => images().list(label, value) },
  ];
  const engineFor = (image: string): ContainerEngine => {
    if (!isHostImage(image)) return images();
    if (isHostAllowed) return host();
    throw new Failure("failed_precondition", "This server runs no programs of its own machine: its operator has not allowed it.", {
      hint: `Name an image; or start the server with ${HOST_VARIABLE}=on, where whoever may run containers may do all that its user may.`,
    });
  };
  return {
    parts,
    require: (image) => void engineFor(image),
    describe: async (signal) => images().describe(signal),
    serverUser: async (signal) => images().serverUser(signal),
    create: async (container, signal) => engineFor(container.image).create(container, signal),
    start: async (id) => of(id).start(id),
    inspect: async (id) => of(id).inspect(id),
    list: async (label, value) => (await Promise.all(parts.map((part) => part.list(label, value)))).flat(),
    waitForEnd: async (id, signal) => of(id).waitForEnd(id, signal),
    stop: async (id, graceMs) => of(id).stop(id, graceMs),
    signal: async (id, signal) => of(id).signal(id, signal),
    remove: async (id) => of(id).remove(id),
    output: (id, from, signal) => of(id).output(id, from, signal),
    exec: async (id, exec) => of(id).exec(id, exec),
    use: async (id) => of(id).use(id),
    makeEmptyImage: async (name, signal) => images().makeEmptyImage(name, signal),
    build: async (image, signal) => images().build(image, signal),
    commit: async (id, tag, signal) => of(id).commit(id, tag, signal),
    fetchImage: async (name, signal) => images().fetchImage(name, signal),
    image: async (name) => images().image(name),
    images: async (label, value) => images().images(label, value),
    removeImage: async (name) => images().removeImage(name),
  };
}

/** Whether an operator allows programs of the machine. Throws StartError. */
export function allowsHost(env: Readonly<Record<string, string | undefined>>): boolean {
  const given = env[HOST_VARIABLE] ?? "";
  if (given === "on") return true;
  if (given === "" || given === "off") return false;
  throw new StartError(
    "setting_invalid",
    `${HOST_VARIABLE} is '${given.slice(0, 200)}', which is neither on nor off.`,
    `For example ${HOST_VARIABLE}=on.`,
  );
}
