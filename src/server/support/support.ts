/**
 * Support: flares, which are a project's files as its author sees them, and feedback. Both stay on
 * this server.
 */

import { type CollectionParts, createCollection, type Document } from "../documents/collection.ts";
import { Failure } from "../failure.ts";
import { newId } from "../identifier.ts";
import type { UploadRecord } from "../stores/metadata/uploads.ts";
import type { ObjectStore } from "../stores/objects/store.ts";

/** What is kept of a flare. */
export interface FlareContent {
  /** The project's name; the document's own name is its id, so that a project may have several. */
  readonly name: string;
  /** The program that sent it. */
  readonly agent: string;
  readonly clientId: string;
  readonly sha256: string;
  readonly sizeBytes: number;
}

/** What is kept of feedback. */
export interface FeedbackContent {
  readonly text: string;
  readonly clientId: string;
}

/** Flares of environments, and feedback of teams. */
export interface Support {
  /**
   * Keeps a bundle that was uploaded whole, and removes the environment's oldest flares beyond 50.
   * Rejects with Failure invalid_argument.
   */
  addFlare(
    environmentId: string,
    flare: Pick<FlareContent, "name" | "agent" | "clientId">,
    bundle: Pick<UploadRecord, "sha256" | "sizeBytes">,
  ): Promise<Document<FlareContent>>;
  /** Flares of an environment, newest first. */
  flares(environmentId: string): Promise<Document<FlareContent>[]>;
  /** A flare with a signed address of its files. Rejects with Failure not_found. */
  flare(environmentId: string, id: string): Promise<{ readonly flare: Document<FlareContent>; readonly url: string }>;
  /** Keeps feedback. Rejects with Failure invalid_argument, resource_exhausted. */
  addFeedback(teamId: string, feedback: FeedbackContent): Promise<Document<FeedbackContent>>;
  /** Feedback of a team, newest first. */
  feedback(teamId: string): Promise<Document<FeedbackContent>[]>;
}

const MAX_FLARES = 50;
const MAX_NAME_LENGTH = 200;
const MAX_FEEDBACK_LENGTH = 10_000;

/** Makes the capability. */
export function createSupport(parts: CollectionParts & { readonly objects: Pick<ObjectStore, "sign"> }): Support {
  const { clock, objects } = parts;
  const flares = createCollection<FlareContent>(parts, {
    kind: "flare",
    noun: "flare",
    idPrefix: "flr",
    listedBy: "svc flare list",
    maxPerScope: 2 * MAX_FLARES,
  });
  const feedback = createCollection<FeedbackContent>(parts, {
    kind: "feedback",
    noun: "feedback",
    idPrefix: "fbk",
    listedBy: "svc feedback --list",
  });
  const newestFirst = <T extends { readonly id: string }>(documents: T[]): T[] => documents.toSorted((a, b) => (a.id < b.id ? 1 : -1));

  return {
    async addFlare(environmentId, { name, agent, clientId }, { sha256, sizeBytes }) {
      if (name.length > MAX_NAME_LENGTH || agent.length > MAX_NAME_LENGTH)
        throw new Failure("invalid_argument", `Name and agent of a flare have at most ${MAX_NAME_LENGTH} characters.`);
      const flare = await flares.create(environmentId, newId("flr", clock.now()), { name, agent, clientId, sha256, sizeBytes });
      const old = newestFirst(await flares.list(environmentId)).slice(MAX_FLARES);
      for (const { id } of old) await flares.delete(environmentId, id).catch(() => undefined);
      return flare;
    },

    flares: async (environmentId) => newestFirst(await flares.list(environmentId)),

    async flare(environmentId, id) {
      const flare = await flares.get(environmentId, id);
      const { sha256, sizeBytes } = flare.content;
      return { flare, url: (await objects.sign("get", sha256, sizeBytes)).url };
    },

    async addFeedback(teamId, { text: given, clientId }) {
      const text = given.trim();
      if (text === "" || given.length > MAX_FEEDBACK_LENGTH)
        throw new Failure("invalid_argument", `Feedback has 1 to ${MAX_FEEDBACK_LENGTH} characters; this has ${text.length}.`);
      return feedback.create(teamId, newId("fbk", clock.now()), { text, clientId });
    },

    feedback: async (teamId) => newestFirst(await feedback.list(teamId)),
  };
}
