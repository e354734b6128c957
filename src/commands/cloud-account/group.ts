import { defineGroup } from "../../cli/command.ts";

export default defineGroup({
  summary: "List, create, test and delete cloud accounts",
  category: "Server and account",
  aliases: ["cloud-accounts"],
  examples: ["svc cloud-account list", { run: "svc cloud-account create --file aws.yaml", does: "name, kind and settings" }],
});
