import type { ListFeedbackResponse, SendFeedbackResponse } from "../../gen/svc/v1/support_pb.ts";
import { defineCommand } from "../cli/command.ts";
import { bool } from "../cli/flag.ts";
import type { Context } from "../context/context.ts";
import { UsageError } from "../errors/cli-error.ts";
import { messageTable, resourceFields } from "../output/message-view.ts";
import { choiceView } from "../output/view.ts";

const MAX_LENGTH = 10_000;

const LIST = messageTable<ListFeedbackResponse>("feedback", {
  id: "ID",
  clientId: "Client",
  createdAt: "Created",
  text: { header: "Text", flexible: true },
});
const SENT = resourceFields(({ feedback }: SendFeedbackResponse) => feedback, { id: "Kept as" });

export default defineCommand({
  summary: "Submit feedback to those who run the server",
  category: "Server and account",
  description: "Typed on a terminal, else all of stdin. It is kept on the server for its administrators and sent nowhere else.",
  examples: [
    { run: "echo 'The docs of windows helped' | svc feedback", does: "Submit a text" },
    { run: "svc feedback --list", does: "Read what was submitted, as an administrator" },
  ],
  needs: ["session"],
  flags: { list: bool("show what was submitted; needs the permission admin") },
  async run(context, { list }): Promise<SendFeedbackResponse | ListFeedbackResponse> {
    const support = await context.api.support();
    if (list) return support.listFeedback({});
    const answer = await support.sendFeedback({ text: await feedbackText(context) });
    context.progress.note("Thanks! Your feedback is kept on this server; it was not sent anywhere else.");
    return answer;
  },
  view: choiceView((data: SendFeedbackResponse | ListFeedbackResponse) => (Array.isArray(data.feedback) ? LIST : SENT)),
});

async function feedbackText({ io, prompt }: Context): Promise<string> {
  const text = io.stdinIsTTY ? await prompt.text("What would you like to tell us?", "stdin") : new TextDecoder().decode(await io.readAll());
  const trimmed = text.trim();
  if (trimmed === "") throw new UsageError("there is no text", { hint: "Pipe it in: `echo 'what you think' | svc feedback`." });
  if (trimmed.length > MAX_LENGTH)
    throw new UsageError(`the text has ${trimmed.length} characters, and feedback has at most ${MAX_LENGTH}`);
  return trimmed;
}
