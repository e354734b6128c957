/** Containers as they are stored: documents of their environment. */

import { create, fromJson, type JsonValue, toJson } from "@bufbuild/protobuf";
import { type ContainerSpec, ContainerSpecSchema, ContainerVariableSchema } from "../../../gen/svc/v1/container_pb.ts";
import type { JsonObject } from "../../domain/json-value.ts";
import { type Collection, type CollectionParts, createCollection, type Document } from "../documents/collection.ts";
import { Failure } from "../failure.ts";

/**
 * The state of a container; those after `unreachable` are final. That one is never stored: the node
 * of the container does not run, and what became of it is not known.
 */
export type ContainerState = "pending" | "running" | "unreachable" | "succeeded" | "failed" | "stopped" | "lost";

/** What is stored of a container. Times are epoch milliseconds. */
interface ContainerContent {
  /** The name that it was given: as a document it is called by it until it has ended. */
  readonly name: string;
  /** What it runs, without values of variables. */
  readonly spec: JsonObject;
  readonly tags: Readonly<Record<string, string>>;
  /** 0 = without end. */
  readonly lifetimeMs: number;
  /** Scaling group that it is a replica of; empty = none. */
  readonly group: string;
  readonly status: ContainerState;
  readonly exitCode?: number;
  readonly message: string;
  readonly startedAt?: number;
  readonly endedAt?: number;
  /** Node that has it. */
  readonly node: string;
}

/** A container. */
export interface StoredContainer extends Omit<ContainerContent, "spec"> {
  readonly id: string;
  readonly environmentId: string;
  readonly spec: ContainerSpec;
  readonly createdAt: number;
}

/** A container that is to be stored. */
export type NewContainerRecord = Pick<StoredContainer, "environmentId" | "name" | "spec" | "tags" | "lifetimeMs" | "group" | "node">;

/** A change of a container. */
export type ContainerChange = Partial<Pick<StoredContainer, "status" | "exitCode" | "message" | "startedAt" | "endedAt">>;

/** How long a container is kept once it has ended, and most of those of an environment. */
const KEPT_MS = 7 * 86_400_000;
const MOST_ENDED = 200;
/** Most containers of an environment that have not ended. */
export const MOST_ALIVE = 100;

/** The containers, or the sandboxes, of a platform. */
export interface ContainerRecords {
  /** Stores one. Rejects with Failure already_exists while another of the name has not ended. */
  add(record: NewContainerRecord): Promise<StoredContainer>;
  /** By id, or by the name of one that has not ended, else of the newest of the name. */
  find(environmentId: string, idOrName: string): Promise<StoredContainer | undefined>;
  /** As `find`. Rejects with Failure not_found. */
  get(environmentId: string, idOrName: string): Promise<StoredContainer>;
  /** Of an environment, or of all; newest first. */
  list(environmentId?: string): Promise<StoredContainer[]>;
  /** Changes one that has not ended; returns what is stored, unchanged when it had ended. */
  change(container: Pick<StoredContainer, "id" | "environmentId">, change: ContainerChange): Promise<StoredContainer>;
  close(): Promise<void>;
}

/** Whether a container has ended. */
export function hasEnded({ status }: Pick<StoredContainer, "status">): boolean {
  return status !== "pending" && status !== "running" && status !== "unreachable";
}

/** A spec without the values of its variables. */
export function withoutValues(spec: ContainerSpec): ContainerSpec {
  const environment = spec.environment.map(({ name, source }) =>
    create(ContainerVariableSchema, { name, ...(source.case === "secret" && { source }) }),
  );
  return create(ContainerSpecSchema, { ...spec, environment });
}

/** Makes the records. @param kind what they are: their ids are UUIDs, or those of sandboxes */
export function createContainerRecords(parts: CollectionParts, kind: "container" | "sandbox"): ContainerRecords {
  const isUuid = kind === "container";
  const prefix = isUuid ? "ctr" : "sbx";
  const documents: Collection<ContainerContent> = createCollection(parts, {
    ...{ kind, noun: kind, idPrefix: prefix, listedBy: `svc ${kind} list` },
    maxPerScope: MOST_ENDED + MOST_ALIVE + 100,
  });
  const shown = ({ id, scope, createdAt, content }: Document<ContainerContent>): StoredContainer => ({
    ...content,
    ...{ id: isUuid ? uuidOf(id) : id, environmentId: scope, createdAt, spec: fromJson(ContainerSpecSchema, content.spec as JsonValue) },
  });
  const documentId = (id: string): string => (isUuid && /^[\da-f]{8}-/.test(id) ? `${prefix}_${id.replaceAll("-", "")}` : id);
  const list = async (environmentId?: string): Promise<StoredContainer[]> => {
    const oldest = parts.clock.now() - KEPT_MS;
    const found = (await documents.list(environmentId)).map(shown);
    return found
      .filter(({ endedAt = Number.POSITIVE_INFINITY }) => endedAt > oldest)
      .sort((a, b) => b.createdAt - a.createdAt || (a.id < b.id ? 1 : -1));
  };
  const find: ContainerRecords["find"] = async (environmentId, idOrName) => {
    const found = await documents.find(environmentId, documentId(idOrName));
    if (found) return shown(found);
    return (await list(environmentId)).find(({ name }) => name === idOrName);
  };
  const prune = async (environmentId: string): Promise<void> => {
    const ended = (await documents.list(environmentId))
      .map((document) => [document.id, shown(document)] as const)
      .filter(([, one]) => hasEnded(one));
    const oldest = parts.clock.now() - KEPT_MS;
    const newest = ended.sort(([a], [b]) => (a < b ? 1 : -1));
    for (const [at, [id, { endedAt = 0 }]] of newest.entries())
      if (at >= MOST_ENDED || endedAt <= oldest) await documents.delete(environmentId, id).catch(() => undefined);
  };

  return {
    async add({ environmentId, name, spec, ...others }) {
      await prune(environmentId);
      const alive = (await list(environmentId)).filter((one) => !hasEnded(one));
      if (alive.length >= MOST_ALIVE)
        throw new Failure(
          "resource_exhausted",
          `${MOST_ALIVE} ${kind === "sandbox" ? "sandboxes" : "containers"} of the environment run, which is the most.`,
          {
            hint: `\`svc ${kind} list\` shows them; end one that is not needed.`,
          },
        );
      const content = {
        ...others,
        name,
        spec: toJson(ContainerSpecSchema, withoutValues(spec)) as JsonObject,
        status: "pending" as const,
        message: "",
      };
      return shown(await documents.create(environmentId, name, content));
    },
    find,
    async get(environmentId, idOrName) {
      return (await find(environmentId, idOrName)) ?? shown(await documents.get(environmentId, idOrName));
    },
    list,
    async change({ environmentId, id }, change) {
      return shown(
        await documents.update(environmentId, documentId(id), ({ content, name, id: own }) => {
          if (hasEnded(content)) return {};
          const after = { ...content, ...change };
          // The name of what has ended is free for another.
          return { content: after, name: hasEnded(after) ? own : name };
        }),
      );
    },
    close: () => documents.close(),
  };
}

/** The UUID of a document's id. */
function uuidOf(id: string): string {
  return id.replace(/^[a-z]+_/, "").replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}
