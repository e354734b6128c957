import { defineCommand } from "../../cli/command.ts";
import { trafficView } from "./view.ts";

export default defineCommand({
  summary: "Send all queries to the tag of the lowest weight",
  description:
    "The other tag gets 0 and stays warm, so that running it again takes it back at once. It needs exactly two tags with weights; null is the lowest.",
  examples: ["svc traffic promote"],
  needs: ["session"],
  run: async ({ api }) => (await api.traffic()).promoteTraffic({}),
  view: trafficView,
});
