import { defineGroup } from "../../cli/command.ts";

export default defineGroup({
  summary: "Run containers of images",
  category: "Server and account",
  examples: [
    "svc container run --image redis:7 --name cache",
    { run: "svc container get --name cache", does: "How one is, and its exit code" },
    "svc container list",
  ],
});
