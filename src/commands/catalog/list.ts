import type { ListCatalogsResponse } from "../../../gen/svc/v1/sql_pb.ts";
import { defineCommand } from "../../cli/command.ts";
import { messageTable } from "../../output/message-view.ts";

export default defineCommand({
  summary: "List catalogs of SQL tables",
  description: "A catalog is the first part of the names of its tables in `svc sql`.",
  examples: ["svc catalog list", "svc catalog list --json"],
  needs: ["session"],
  run: async ({ api }) => (await api.sql()).listCatalogs({}),
  view: messageTable<ListCatalogsResponse>("catalogs", {
    catalog: { header: "Catalog" },
    kind: { header: "Kind" },
  }),
});
