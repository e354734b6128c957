import { defineGroup } from "../../cli/command.ts";

export default defineGroup({
  summary: "Run commands in containers without a network",
  category: "Server and account",
  examples: [
    "svc sandbox create --image python:3.13 --name try",
    { run: "svc sandbox exec try -- python -c 'print(6 * 7)'", does: "A command, with its exit code" },
    { run: "svc sandbox copy rows.csv try:/tmp/", does: "Files into it, and out of it the other way round" },
    "svc sandbox list",
    "svc sandbox terminate --name try",
  ],
});
