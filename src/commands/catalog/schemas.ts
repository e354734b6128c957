import type { ListSchemasResponse, SchemaEntry } from "../../../gen/svc/v1/sql_pb.ts";
import { defineCommand } from "../../cli/command.ts";
import { bool, text } from "../../cli/flag.ts";
import { choiceView, tableView, type View } from "../../output/view.ts";

/** An answer, and whether tables were asked for. */
interface Listed {
  readonly answer: ListSchemasResponse;
  readonly showTables: boolean;
}

const PATTERN = "* or % stands for any text, ? for one character";

export default defineCommand({
  summary: "List schemas and tables for SQL",
  description:
    "In the catalog `historical` a schema is a namespace of features, and a table the history of one; a feature whose type changed has a table for each version, such as " +
    "score__v1. In `datasets` a table is the newest revision of a dataset. Statements of `svc sql` name them as they are shown.",
  examples: [
    "svc catalog schemas",
    { run: "svc catalog schemas --show-tables --table '*score*'", does: "Tables by name" },
    { run: "svc catalog schemas --catalog datasets --show-tables --json", does: "All datasets" },
  ],
  needs: ["session"],
  flags: {
    catalog: text("only this catalog", { placeholder: "<name>" }),
    schemaPattern: text(`only schemas with such a name: ${PATTERN}`, { aliases: ["--schema"], placeholder: "<pattern>" }),
    tablePattern: text("only those with tables of such a name", { aliases: ["--table"], placeholder: "<pattern>" }),
    showTables: bool("list the tables", { aliases: ["--tables"] }),
  },
  async run({ api, flags, progress }, { catalog = "", schemaPattern = "", showTables, tablePattern = "" }): Promise<Listed> {
    const answer = await (await api.sql()).listSchemas({ catalog, schemaPattern, tablePattern, showTables });
    if (answer.truncated && !flags.json) progress.note("There are more; a pattern selects some.");
    return { answer, showTables };
  },
  view: choiceView<Listed>(({ showTables }) => (showTables ? TABLES : SCHEMAS) as View<never>),
});

const CATALOG = { header: "Catalog", cell: ({ catalog }: SchemaEntry) => catalog };
const SCHEMA = { header: "Schema", cell: ({ schema }: SchemaEntry) => schema };

const SCHEMAS = tableView<Listed, SchemaEntry>({
  things: "schemas",
  long: true,
  rows: ({ answer }) => answer.schemas,
  columns: [CATALOG, SCHEMA],
  json: ({ answer }) => ({ schemas: answer.schemas.map(({ catalog, schema }) => ({ catalog, schema })), truncated: answer.truncated }),
});

const TABLES = tableView<Listed, SchemaEntry>({
  things: "tables",
  long: true,
  rows: ({ answer }) => answer.schemas,
  columns: [CATALOG, SCHEMA, { header: "Table", cell: ({ table }) => table }, { header: "Name in SQL", cell: ({ sqlName }) => sqlName }],
  json: ({ answer }) => ({
    schemas: answer.schemas.map(({ catalog, schema, sqlName, table }) => ({ catalog, schema, table, sql_name: sqlName })),
    truncated: answer.truncated,
  }),
});
