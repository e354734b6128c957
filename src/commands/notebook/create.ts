import type { CreateNotebookResponse } from "../../../gen/svc/v1/notebook_pb.ts";
import { defineCommand } from "../../cli/command.ts";
import { text } from "../../cli/flag.ts";
import { resourceFields } from "../../output/message-view.ts";

export default defineCommand({
  summary: "Create an empty notebook",
  description: "Its kernel starts with the first cell that runs: `svc notebook exec`, or on its page.",
  examples: ['svc notebook create --title "First look"', 'svc notebook create --title churn --description "Why customers leave"'],
  needs: ["session"],
  flags: {
    title: text('title, which no other notebook of the environment has; default: "Untitled"', { aliases: ["--name"] }),
    description: text("what it is for"),
  },
  run: async ({ api }, { title = "", description = "" }) => (await api.notebooks()).createNotebook({ title, description }),
  view: resourceFields(({ notebook }: CreateNotebookResponse) => notebook, {
    id: "ID",
    title: "Name",
    url: { header: "URL", ifAny: true },
  }),
});
