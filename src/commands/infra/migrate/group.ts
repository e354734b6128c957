import { defineGroup } from "../../../cli/command.ts";

export default defineGroup({ summary: "Upgrade the schemas of components", examples: ["svc infra migrate metrics --yes"] });
