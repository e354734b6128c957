import type { ListEventsResponse } from "../../../../gen/svc/v1/cluster_pb.ts";
import { defineCommand } from "../../../cli/command.ts";
import { int, list, text, timestamp } from "../../../cli/flag.ts";
import { msToTimestamp } from "../../../domain/proto-time.ts";
import { UsageError } from "../../../errors/cli-error.ts";
import { messageTable } from "../../../output/message-view.ts";

export default defineCommand({
  summary: "List cluster events",
  description:
    "The journal of the platform's processes, newest first; it reaches back 90 days. Where containers run in Kubernetes, it has what their cluster says of them, too. A namespace is an environment, or `server`.",
  examples: [
    "svc kube events list",
    { run: "svc kube events list --start-time 1h --message killed", does: "What was killed within the hour" },
  ],
  needs: ["session"],
  flags: {
    startTime: timestamp("start of the time range", { aliases: ["--start"] }),
    endTime: timestamp("end of the time range", { aliases: ["--end"] }),
    namespace: list(text("namespace")),
    pod: list(text("pod")),
    message: text("message substring", { aliases: ["--search"] }),
    limit: int("most rows to return", { aliases: ["-L"], default: 100 }),
    offset: int("rows to skip before the first one", { default: 0 }),
  },
  check({ limit, offset }) {
    if (limit < 1 || limit > 1000) throw new UsageError("--limit takes 1 to 1000");
    if (offset < 0) throw new UsageError("--offset cannot be negative");
  },
  run: async ({ api }, { endTime, limit, message, namespace, offset, pod, startTime }) =>
    (await api.clusters()).listEvents({
      ...(startTime !== undefined && { startTime: msToTimestamp(startTime) }),
      ...(endTime !== undefined && { endTime: msToTimestamp(endTime) }),
      namespaces: namespace,
      pods: pod,
      message: message ?? "",
      limit,
      offset,
    }),
  view: messageTable<ListEventsResponse>("events", {
    lastSeen: "Last Seen",
    type: { header: "Type", style: (text, style) => (text === "Warning" ? style.yellow(text) : text) },
    reason: "Reason",
    namespace: "Namespace",
    object: "Object",
    message: { header: "Message", flexible: true },
  }),
});
