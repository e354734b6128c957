import { defineGroup } from "../../cli/command.ts";

export default defineGroup({
  summary: "Run containers of images",
  category: "Server and account",
  examples: [
    "svc container run --image docker.io/library/busybox --await-running -- sleep 60",
    { run: "svc container get --name web", does: "How one is, and its exit code" },
    "svc container list",
  ],
});
