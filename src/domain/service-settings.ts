/** Settings of one service of a resource group, and what several services have alike. */

import { isJsonObject, type Json, type JsonObject, member } from "./json-value.ts";
import { quantityValue } from "./quantity.ts";

/** Address space that an interpreter with its threads needs to start, approximately. */
const LEAST_MEMORY = 256 * 1024 ** 2;

/** What a group says of a service; undefined = nothing. */
export function serviceSettings(group: JsonObject, service: string): Json | undefined {
  const services = member(group, "services");
  return isJsonObject(services) ? member(services, service) : undefined;
}

/** A group without what it says of a service, and without services when that was all. */
export function withoutService({ services, ...others }: JsonObject, service: string): JsonObject {
  if (services === undefined || !isJsonObject(services)) return services === undefined ? others : { ...others, services };
  const { [service]: _, ...rest } = services;
  return Object.keys(rest).length === 0 ? others : { ...others, services: rest };
}

/** What `memory.limits`, or `memory` itself, says; undefined = nothing. */
export function memoryLimit(settings: JsonObject): Json | undefined {
  const memory = member(settings, "memory");
  if (memory === undefined) return undefined;
  return isJsonObject(memory) ? member(memory, "limits") : memory;
}

/** The bytes of a memory limit without a problem; undefined = there is none. */
export function memoryLimitBytes(settings: JsonObject): number | undefined {
  const limit = memoryLimit(settings);
  return typeof limit === "string" ? quantityValue(limit) : undefined;
}

/** What is wrong with the memory limit of a Python process; undefined when nothing is. */
export function memoryLimitProblem(settings: JsonObject, key: string): string | undefined {
  const limit = memoryLimit(settings);
  const bytes = memoryLimitBytes(settings);
  if (limit === undefined || (bytes !== undefined && Number.isSafeInteger(bytes) && bytes >= LEAST_MEMORY)) return undefined;
  return `${key}.memory.limits: expected a number of bytes of at least 256Mi, such as 2Gi`;
}

/** What is wrong with a number of replicas; undefined when nothing is. */
export function replicasProblem(settings: JsonObject, key: string, what: string, most: number): string | undefined {
  const replicas = member(settings, "replicas");
  if (replicas === undefined || (Number.isInteger(replicas) && (replicas as number) >= 1 && (replicas as number) <= most)) return undefined;
  return `${key}.replicas: expected the number of ${what}, 1 to ${most}`;
}
