/** Scaling groups as they are stored: documents of their environment. */

import { create, fromJson, type JsonValue, toJson } from "@bufbuild/protobuf";
import { type ContainerSpec, ContainerSpecSchema } from "../../../gen/svc/v1/container_pb.ts";
import type { JsonObject } from "../../domain/json-value.ts";
import type { Sealer } from "../access/sealing.ts";
import type { Caller } from "../access/tokens.ts";
import { withoutValues } from "../containers/container-records.ts";
import type { CollectionOptions, Document } from "../documents/collection.ts";
import type { Bounds } from "./autoscaling.ts";

/** What is stored of a group. */
export interface GroupContent {
  /** What its replicas run, without values of variables. */
  readonly spec: JsonObject;
  /** The values of variables by name, sealed. */
  readonly values: string;
  /** What the values are sealed for. */
  readonly sealedAs: string;
  readonly bounds: Bounds;
  readonly tags: Readonly<Record<string, string>>;
  /** Tells replicas of before a replacement from those after it. */
  readonly generation: string;
  /** Who asked for it: its replicas are started for them. */
  readonly author: Pick<Caller, "clientId" | "teamId" | "permissions" | "environments" | "personId">;
  /** Node that has its replicas. */
  readonly node: string;
}

/** A group. Its scope is its environment. */
export type Group = Document<GroupContent>;

/** The collection of groups. */
export const GROUPS: CollectionOptions = {
  kind: "scaling_group",
  noun: "scaling group",
  idPrefix: "sg",
  listedBy: "svc scaling-group list",
  maxPerScope: 100,
  maxBytes: 512 * 1024,
};

/** A spec of a group. */
export function specOf({ spec }: Pick<GroupContent, "spec">): ContainerSpec {
  return fromJson(ContainerSpecSchema, spec as JsonValue, { ignoreUnknownFields: true });
}

/** The images of groups as they are stored: replicas are made of them at any time. */
export function imagesOfGroups(stored: readonly { readonly content: unknown }[]): Set<string> {
  return new Set(stored.map(({ content }) => specOf(content as GroupContent).image));
}

/** A spec in the form that is stored, with the values apart. */
export async function storedSpec(
  sealer: Sealer,
  scope: string,
  spec: ContainerSpec,
): Promise<Pick<GroupContent, "spec" | "values" | "sealedAs">> {
  const sealedAs = crypto.randomUUID();
  const values = Object.fromEntries(
    spec.environment.flatMap(({ name, source }) => (source.case === "value" ? [[name, source.value]] : [])),
  );
  return {
    spec: toJson(ContainerSpecSchema, withoutValues(spec)) as JsonObject,
    values: await sealer.seal(JSON.stringify(values), contextOf(scope, sealedAs)),
    sealedAs,
  };
}

/** A spec with the values of its variables. Rejects with Failure failed_precondition. */
export async function wholeSpec(sealer: Sealer, { content, scope }: Group): Promise<ContainerSpec> {
  const spec = specOf(content);
  const values = JSON.parse(await sealer.open(content.values, contextOf(scope, content.sealedAs))) as Record<string, string>;
  const environment = spec.environment.map((variable) => {
    const value = Object.hasOwn(values, variable.name) ? values[variable.name] : undefined;
    return value === undefined ? variable : { ...variable, source: { case: "value" as const, value } };
  });
  return create(ContainerSpecSchema, { ...spec, environment });
}

/** The values sealed with the key that seals now. */
export async function resealed(sealer: Sealer, { content, scope }: Group): Promise<GroupContent> {
  const context = contextOf(scope, content.sealedAs);
  return { ...content, values: await sealer.seal(await sealer.open(content.values, context), context) };
}

function contextOf(scope: string, sealedAs: string): readonly string[] {
  return [scope, "scaling_group", sealedAs, "values"];
}
