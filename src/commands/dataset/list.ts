import type { Dataset, ListDatasetsResponse } from "../../../gen/svc/v1/dataset_pb.ts";
import { defineCommand } from "../../cli/command.ts";
import { bool, text } from "../../cli/flag.ts";
import { messageTable } from "../../output/message-view.ts";
import { checkPage, notePage, pageFlags } from "../page-flags.ts";

export default defineCommand({
  summary: "List datasets",
  description: "Those with a complete revision, newest first.",
  examples: ["svc dataset list", { run: "svc dataset list --search sales --json", does: "Those with a word in their name" }],
  needs: ["session"],
  flags: {
    search: text("only datasets whose name contains this, in any case", { placeholder: "<text>" }),
    all: bool("fetch every page, each of --limit rows", { aliases: ["--all-pages"] }),
    ...pageFlags,
  },
  check: checkPage,
  async run(context, { search = "", limit, all, pageToken = "" }) {
    const service = await context.api.datasets();
    const read = (token: string): Promise<ListDatasetsResponse> => service.listDatasets({ search, pageSize: limit, pageToken: token });
    let answer = await read(pageToken);
    const datasets: Dataset[] = [...answer.datasets];
    while (all && answer.nextPageToken !== "") {
      answer = await read(answer.nextPageToken);
      datasets.push(...answer.datasets);
    }
    notePage(context, answer);
    return { ...answer, datasets };
  },
  view: messageTable<ListDatasetsResponse>("datasets", {
    id: "ID",
    name: "Name",
    revisions: { header: "Revisions", align: "right" },
    updatedAt: "Updated",
  }),
});
