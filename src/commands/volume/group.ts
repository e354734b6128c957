import { defineGroup } from "../../cli/command.ts";

export default defineGroup({
  summary: "Keep files that outlive containers",
  category: "Server and account",
  examples: ["svc volume create --name data", { run: "svc volume get --name data", does: "Its size, and what uses it" }, "svc volume list"],
});
