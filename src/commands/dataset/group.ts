import { defineGroup } from "../../cli/command.ts";

export default defineGroup({
  summary: "Show, download and upload datasets",
  category: "Query and explore",
  examples: [
    "svc dataset list",
    "svc dataset upload sales.parquet --name sales",
    "svc dataset download rev_01920f4e8c7d7b1e9a3c5d7e9f1b3a5c",
  ],
});
