import { defineGroup } from "../../cli/command.ts";

export default defineGroup({
  summary: "Run as many containers of an image as requests need",
  category: "Server and account",
  examples: [
    "svc scaling-group create --image registry.example.com/score:3 --port 8080",
    { run: "svc scaling-group get --name score", does: "Its address, its state and its replicas" },
    "svc scaling-group list",
  ],
});
