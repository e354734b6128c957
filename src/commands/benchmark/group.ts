import { defineGroup } from "../../cli/command.ts";

export default defineGroup({
  summary: "Measure the query endpoint under load (alpha)",
  category: "Query and explore",
  examples: [
    "svc benchmark run --in user.id=1 --out user.score --qps 50 --watch",
    { run: "svc benchmark upload --file-path rows.jsonl", does: "Inputs, a query per row" },
    { run: "svc benchmark compare bench_0198c0de bench_0198c0e1", does: "Whether two runs differ" },
    "svc benchmark list",
  ],
});
