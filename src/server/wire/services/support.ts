/** SupportService: flares and feedback, kept on this server. */

import type { ConnectRouter, HandlerContext } from "@connectrpc/connect";
import { SupportService } from "../../../../gen/svc/v1/support_pb.ts";
import { msToTimestamp } from "../../../domain/proto-time.ts";
import { resolveScope } from "../../access/scope.ts";
import type { Document } from "../../documents/collection.ts";
import type { FeedbackContent, FlareContent } from "../../support/support.ts";
import { callerOf } from "../interceptors.ts";
import type { Platform } from "../platform.ts";
import { uploadedBundle } from "./uploaded-bundle.ts";

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
  const { environments, support } = platform;
  const environmentOf = async (context: HandlerContext): Promise<string> =>
    (await resolveScope(environments, callerOf(context), context.requestHeader)).environment.id;

  router.service(SupportService, {
    async createFlare({ uploadId, name, agent }, context) {
      const environmentId = await environmentOf(context);
      const sent = { name, agent, clientId: callerOf(context).clientId };
      return { flare: flareMessage(await (await support()).addFlare(environmentId, sent, await uploadedBundle(platform, uploadId))) };
    },

    async listFlares(_request, context) {
      return { flares: (await (await support()).flares(await environmentOf(context))).map(flareMessage) };
    },

    async getFlare({ id }, context) {
      const { flare, url } = await (await support()).flare(await environmentOf(context), id);
      return { flare: flareMessage(flare), url };
    },

    async sendFeedback({ text }, context) {
      const { clientId, teamId } = callerOf(context);
      return { feedback: feedbackMessage(await (await support()).addFeedback(teamId, { text, clientId })) };
    },

    async listFeedback(_request, context) {
      return { feedback: (await (await support()).feedback(callerOf(context).teamId)).map(feedbackMessage) };
    },
  });
}
