import { Component } from "../../../../gen/svc/v1/infra_pb.ts";
import { defineCommand } from "../../../cli/command.ts";
import { readDocument } from "../../document-flags.ts";
import { type Applied, appliedView, applyFlags, applySpec } from "../apply-flags.ts";

export default defineCommand({
  summary: "Create or update kafka topics from a config file",
  description:
    "These are topics of the server itself, which every environment has for itself once it uses them. They are told apart by their names; those that the file does not name stay. " +
    "A topic can be given more partitions, never fewer; its messages are kept for retention_ms, a week unless that is said, up to 1 GiB of them. The server keeps every message once: replication is 1.",
  examples: ["svc infra apply kafka-topics --file topics.yaml"],
  needs: ["session"],
  flags: applyFlags,
  run: async (context, { file, force }) =>
    applySpec(context, Component.KAFKA_TOPICS, await readDocument(context, file), { force, shown: topicLists }),
  view: appliedView(topicLists),
});

function topicLists(changes: Applied["changes"]): string {
  const list = (title: string, topics: Applied["changes"]): string[] =>
    topics.length === 0
      ? []
      : [`${title}:`, ...topics.map(({ path, after }) => `  ${path[1]}${after === undefined ? "" : ` ${JSON.stringify(after)}`}`)];
  return [
    ...list(
      "Topics to create",
      changes.filter(({ before }) => before === undefined),
    ),
    ...list(
      "Topics to update",
      changes.filter(({ before, after }) => before !== undefined && after !== undefined),
    ),
    ...list(
      "Topics to remove",
      changes.filter(({ after }) => after === undefined),
    ),
  ].join("\n");
}
