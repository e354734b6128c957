import { defineGroup } from "../../../cli/command.ts";

export default defineGroup({
  summary: "Connect Snowflake, BigQuery or Iceberg as the offline store",
  aliases: ["connections"],
  examples: [
    "svc offline-store connection list",
    { run: "svc offline-store connection create --file warehouse.yaml", does: "name, type and settings" },
  ],
});
