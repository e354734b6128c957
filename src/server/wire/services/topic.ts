/** TopicService: pushing to topics, and what they hold. */

import type { ConnectRouter, HandlerContext } from "@connectrpc/connect";
import { TopicService } from "../../../../gen/svc/v1/topic_pb.ts";
import { resolveScope } from "../../access/scope.ts";
import { suspended } from "../../deployments/environment-states.ts";
import { Failure, type FailureKind } from "../../failure.ts";
import { isTopicName } from "../../topics/limits.ts";
import { findTopic, nearTopics, type TopicQuestion, type TopicTarget } from "../../topics/targets.ts";
import { TopicError, type TopicErrorCode } from "../../topics/topics.ts";
import { callerOf } from "../interceptors.ts";
import type { Platform } from "../platform.ts";

/** Most messages of one call. */
const MAX_MESSAGES = 1_000;

const KINDS: Readonly<Record<TopicErrorCode, FailureKind>> = {
  missing: "not_found",
  elsewhere: "failed_precondition",
  denied: "failed_precondition",
  unavailable: "unavailable",
  refused: "invalid_argument",
};

/** Adds the service to a router. */
export function register(router: ConnectRouter, platform: Platform): void {
  const using = async <T>(
    { topicName, integrationName }: { readonly topicName: string; readonly integrationName: string },
    context: HandlerContext,
    use: (target: TopicTarget) => Promise<T>,
    { isPush }: { readonly isPush: boolean },
  ): Promise<T> => {
    const { environment, branch } = await resolveScope(platform.environments, callerOf(context), context.requestHeader);
    if (!isTopicName(topicName))
      throw new Failure("invalid_argument", `'${topicName.slice(0, 100)}' is no name of a topic.`, {
        hint: "It has letters, digits, '.', '_' and '-', at most 249 of them.",
      });
    const deployments = await platform.deployments();
    if (isPush && environment.suspendedAt !== undefined) throw suspended(environment);
    if (isPush && integrationName !== "")
      await (await platform.approvals()).refuseProtected(environment, "messages go only to topics that its deployment names");
    const live = deployments.live(environment.id, branch);
    const sources = await platform.topicSources();
    const question: TopicQuestion = {
      environmentId: environment.id,
      topic: topicName,
      integration: integrationName,
      declared: live === undefined ? [] : (await deployments.graph(live)).sources,
    };
    try {
      const target = await findTopic(sources, question);
      try {
        return await use(target);
      } finally {
        target.release();
      }
    } catch (error) {
      if (!(error instanceof TopicError)) throw error;
      const hint = error.code === "missing" && integrationName === "" ? await nearTopics(sources, question) : "";
      throw new Failure(KINDS[error.code], error.message, hint === "" ? {} : { hint: hint.charAt(0).toUpperCase() + hint.slice(1) });
    }
  };

  router.service(TopicService, {
    pushMessages: ({ messages, ...request }, context) =>
      using(
        request,
        context,
        async ({ topics, topic, source, kind }) => {
          if (messages.length === 0 || messages.length > MAX_MESSAGES)
            throw new Failure("invalid_argument", `A call pushes 1 to ${MAX_MESSAGES} messages, and this one has ${messages.length}.`);
          const pushed = messages.map(({ key, value, headers, partition }) => ({
            ...(key !== undefined && { key }),
            value,
            headers: headers.map((header) => [header.name, header.value] as const),
            ...(partition !== undefined && { partition }),
          }));
          return { places: [...(await topics.push(topic, pushed, context.signal))], source: { name: source, kind } };
        },
        { isPush: true },
      ),

    describeTopic: (request, context) =>
      using(
        request,
        context,
        async ({ topics, topic, source, kind }) => ({
          source: { name: source, kind },
          partitions: (await topics.describe(topic, context.signal)).map(({ partition, earliest, latest }) => ({
            partition,
            earliestOffset: earliest,
            latestOffset: latest,
          })),
        }),
        { isPush: false },
      ),
  });
}
