import { defineCommand } from "../../cli/command.ts";
import { text } from "../../cli/flag.ts";
import { volumeDone } from "./volume-view.ts";

export default defineCommand({
  summary: "Create a persistent volume",
  description: "A folder on the server's machine, for containers: `svc container run --volume <name>:/path`.",
  examples: ["svc volume create --name data"],
  needs: ["session"],
  flags: { name: text("name, of a-z, 0-9 and -", { required: true, placeholder: "<name>" }) },
  run: async ({ api }, { name }) => (await api.volumes()).createVolume({ name }),
  view: volumeDone("Created"),
});
