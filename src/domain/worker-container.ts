/** The containers in which the code of deployments runs: their settings and the rules of these. */

import { didYouMean } from "./closest.ts";
import { isJsonObject, type Json } from "./json-value.ts";
import { quantityValue } from "./quantity.ts";

/** The containers in which the code of deployments runs. What is empty is not limited. */
export interface WorkerContainer {
  /** Image that requirements are added to; empty = it runs in processes beside the server. */
  readonly image: string;
  /** Most memory, such as `512Mi`. */
  readonly memory: string;
  /** Processors, such as `500m` or `2`. */
  readonly cpu: string;
  /** Whether they have a network. */
  readonly network: boolean;
}

/** No containers. */
export const NO_CONTAINER: WorkerContainer = { image: "", memory: "", cpu: "", network: false };

/** Least memory of a worker: with less no Python starts. */
const LEAST_MEMORY = 32 * 1024 ** 2;
const MAX_TEXT = 500;

/** What is wrong with settings of containers, with the key; undefined when nothing is. */
export function workerContainerProblem(value: Json, key: string): string | undefined {
  if (!isJsonObject(value)) return `${key}: expected keys and values`;
  for (const [name, one] of Object.entries(value)) {
    if (!(name in NO_CONTAINER)) {
      const names = Object.keys(NO_CONTAINER);
      const near = didYouMean(name, names);
      return `${key}: there is no '${name}'${near ? `; ${near}` : `: there are ${names.join(", ")}`}`;
    }
    if (name === "network") {
      if (typeof one !== "boolean") return `${key}.${name}: expected true or false`;
    } else if (typeof one !== "string") {
      return `${key}.${name}: expected text${typeof one === "object" ? "" : `; write "${one}" in quotes`}`;
    } else if (one.length > MAX_TEXT) return `${key}.${name}: is longer than ${MAX_TEXT} characters`;
  }
  const { cpu = "", image = "", memory = "" } = value as Partial<WorkerContainer>;
  if (image !== "" && !/^\w[\w.:/@+-]*$/.test(image)) return `${key}.image: expected an image such as python:3.12-slim`;
  if (image.startsWith("host:")) return `${key}.image: host: is the server's own machine, where workers run without this setting`;
  const bytes = quantityValue(memory);
  if (memory !== "" && !(bytes !== undefined && bytes >= LEAST_MEMORY)) return `${key}.memory: expected at least 32Mi, such as 512Mi`;
  const processors = quantityValue(cpu);
  if (cpu !== "" && !(processors !== undefined && processors >= 0.01 && processors <= 1_024))
    return `${key}.cpu: expected a number of processors, such as 500m or 2`;
  return undefined;
}

/** What is wrong with containers without an image; undefined when nothing is. */
export function imageProblem({ cpu = "", image = "", memory = "", network = false }: Partial<WorkerContainer>): string | undefined {
  return image === "" && (cpu !== "" || memory !== "" || network)
    ? "names no image in which Python is, such as python:3.12-slim"
    : undefined;
}
