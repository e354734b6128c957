import type { DeadLetter, ListDeadLettersResponse } from "../../../../gen/svc/v1/stream_pb.ts";
import { defineCommand } from "../../../cli/command.ts";
import { arg } from "../../../cli/flag.ts";
import { messageTable } from "../../../output/message-view.ts";
import { age } from "../../../output/time.ts";
import { checkPage, notePage, pageFlags } from "../../page-flags.ts";

/** Characters of a message that people see. */
const SHOWN = 200;

export default defineCommand({
  summary: "List a stream's dead letters, the newest first",
  description:
    "They are kept for 7 days, at most 10,000 and 32 MiB of a stream; the oldest go first. --json has the whole messages, in base64. A stage is where it failed: " +
    "`parse` = it could not be read, `resolver` = the function raised, `row` = its row cannot be stored.",
  examples: [
    "svc streams dead-letters list on_payment",
    { run: "svc streams dead-letters list on_payment --json", does: "With the messages" },
  ],
  needs: ["session"],
  args: { name: arg("name of the stream's resolver, or its last part") },
  flags: pageFlags,
  check: checkPage,
  async run(context, { limit, name, pageToken = "" }) {
    const answer = await (await context.api.streams()).listDeadLetters({ name, pageSize: limit, pageToken });
    notePage(context, answer);
    return answer;
  },
  view: messageTable<ListDeadLettersResponse>(
    "deadLetters",
    {
      id: { header: "ID", align: "right" },
      failedAt: { header: "Failed", cell: ({ failedAt }, style) => age(failedAt, style) },
      partition: { header: "Partition", align: "right" },
      offset: { header: "Offset", align: "right" },
      stage: "Stage",
      reason: { header: "Reason", cell: ({ reason }) => reason.replace(/\s+/g, " "), flexible: true },
      value: { header: "Message", cell: messageText, flexible: true },
    },
    { things: "dead letters" },
  ),
});

/** The beginning of a message as text; bytes that are no text as `\xff`. */
function messageText({ value }: DeadLetter): string {
  const text = new TextDecoder().decode(value.subarray(0, SHOWN));
  return `${text.replace(/\s+/g, " ")}${value.length > SHOWN ? "..." : ""}`;
}
