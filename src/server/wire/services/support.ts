/** SupportService: flares and feedback, kept on this server. */

import type { ConnectRouter } from "@connectrpc/connect";
import { SupportService } from "../../../../gen/svc/v1/support_pb.ts";
import { msToTimestamp } from "../../../domain/proto-time.ts";
import { resolveScope } from "../../access/scope.ts";
import { createCollection, type Document } from "../../documents/collection.ts";
import { Failure } from "../../failure.ts";
import { newId } from "../../identifier.ts";
import { callerOf } from "../interceptors.ts";
import type { Platform } from "../platform.ts";
import { uploadedBundle } from "./uploaded-bundle.ts";

const MAX_FLARES = 50;
const MAX_LABEL_LENGTH = 200;
const MAX_FEEDBACK_LENGTH = 10_000;

interface FlareContent {
  /** The project's name; the document's own name is its id, so that a project may have several. */
  readonly name: string;
  readonly agent: string;
  readonly clientId: string;
  readonly sha256: string;
  readonly sizeBytes: number;
}

interface FeedbackContent {
  readonly text: string;
  readonly clientId: string;
}

const flareMessage = ({ id, createdAt, content: { name, agent, clientId, sizeBytes } }: Document<FlareContent>) => ({
  id,
  name,
  agent,
  clientId,
  createdAt: msToTimestamp(createdAt),
  sizeBytes: BigInt(sizeBytes),
});

const feedbackMessage = ({ id, createdAt, content }: Document<FeedbackContent>) => ({
  id,
  ...content,
  createdAt: msToTimestamp(createdAt),
});

/** Adds the service to a router. */
export function register(router: ConnectRouter, platform: Platform): void {
  const { clock, collections, environments, objects } = platform;
  const flares = createCollection<FlareContent>(collections, {
    kind: "flare",
    noun: "flare",
    idPrefix: "flr",
    listedBy: "svc flare list",
    maxPerScope: 2 * MAX_FLARES,
  });
  const feedback = createCollection<FeedbackContent>(collections, {
    kind: "feedback",
    noun: "feedback",
    idPrefix: "fbk",
    listedBy: "svc feedback --list",
  });
  const newestFirst = <T extends { readonly id: string }>(documents: T[]): T[] => documents.toSorted((a, b) => (a.id < b.id ? 1 : -1));

  router.service(SupportService, {
    async createFlare({ uploadId, name, agent }, context) {
      const caller = callerOf(context);
      const { environment } = await resolveScope(environments, caller, context.requestHeader);
      if (name.length > MAX_LABEL_LENGTH || agent.length > MAX_LABEL_LENGTH)
        throw new Failure("invalid_argument", `Name and agent of a flare have at most ${MAX_LABEL_LENGTH} characters.`);
      const { sha256, sizeBytes } = await uploadedBundle(platform, uploadId);
      const content = { name, agent, clientId: caller.clientId, sha256, sizeBytes };
      const flare = await flares.create(environment.id, newId("flr", clock.now()), content);
      const old = newestFirst(await flares.list(environment.id)).slice(MAX_FLARES);
      for (const { id } of old) await flares.delete(environment.id, id).catch(() => undefined);
      return { flare: flareMessage(flare) };
    },

    async listFlares(_request, context) {
      const { environment } = await resolveScope(environments, callerOf(context), context.requestHeader);
      return { flares: newestFirst(await flares.list(environment.id)).map(flareMessage) };
    },

    async getFlare({ id }, context) {
      const { environment } = await resolveScope(environments, callerOf(context), context.requestHeader);
      const flare = await flares.get(environment.id, id);
      const { sha256, sizeBytes } = flare.content;
      return { flare: flareMessage(flare), url: (await objects.sign("get", sha256, sizeBytes)).url };
    },

    async sendFeedback({ text }, context) {
      const { clientId, teamId } = callerOf(context);
      if (text.trim() === "" || text.length > MAX_FEEDBACK_LENGTH)
        throw new Failure("invalid_argument", `Feedback has 1 to ${MAX_FEEDBACK_LENGTH} characters; this has ${text.trim().length}.`);
      return { feedback: feedbackMessage(await feedback.create(teamId, newId("fbk", clock.now()), { text: text.trim(), clientId })) };
    },

    async listFeedback(_request, context) {
      return { feedback: newestFirst(await feedback.list(callerOf(context).teamId)).map(feedbackMessage) };
    },
  });
}
