import type { GetQueryRunResponse } from "../../../gen/svc/v1/query_run_pb.ts";
import { defineCommand } from "../../cli/command.ts";
import { arg, timestamp } from "../../cli/flag.ts";
import { msToTimestamp } from "../../domain/proto-time.ts";
import { answerFields } from "../../output/message-view.ts";
import { askedFacts, RUN_FIELDS } from "./run-view.ts";

export default defineCommand({
  summary: "Show a query run",
  description:
    "How it went, what it was asked, and why it failed. --json has the request and the answer as well, its page the values, the log and the stages; " +
    "svc trace get --operation-id shows where its time went.",
  examples: [
    "svc queries get 0198c0de7a4b7f1e9c52d8e3b6a1f047",
    { run: "svc queries get 0198c0de7a4b7f1e9c52d8e3b6a1f047 --json", does: "With the request and the answer" },
  ],
  needs: ["session"],
  args: { id: arg("id of the run") },
  flags: {
    timestamp: timestamp("roughly when it ran: a run of another day is not shown", { aliases: ["--approximate-timestamp"] }),
  },
  async run({ api }, { id, timestamp: at }) {
    return (await api.queryRuns()).getQueryRun({ id, ...(at !== undefined && { approximateTime: msToTimestamp(at) }) });
  },
  view: answerFields(({ query }: GetQueryRunResponse) => query, RUN_FIELDS, askedFacts),
});
