import { basename } from "node:path";
import { defineCommand } from "../../cli/command.ts";
import { path } from "../../cli/flag.ts";
import { CliError } from "../../errors/cli-error.ts";
import { emit, type Generated, generatedView, outFlags } from "./out-flags.ts";

export default defineCommand({
  summary: "Generate Pydantic models from messages and structs",
  description:
    "Models (pydantic 2) of the messages and enums of a .proto file with what it imports, of all .proto files below a folder, of a JSON Schema, or of " +
    "the columns of a table of Arrow (a file or stream of its IPC format; its rows are not read). " +
    "They take the names of the schema and those that protobuf gives them in JSON, as messages of a stream: " +
    "`@stream(source=...) def on(message: Payment)`. Needs no project and no server.",
  examples: [
    "svc codegen pydantic --in proto --out messages.py",
    "svc codegen pydantic --in payment.schema.json",
    "svc codegen pydantic --in payments.arrow",
  ],
  flags: {
    in: path(".proto file, folder of such, JSON Schema, or table of Arrow", { required: true, placeholder: "<path>" }),
    ...outFlags,
  },
  async run(context, input): Promise<Generated> {
    const [{ readSchema }, { SchemaError }, { generatePydantic }] = await Promise.all([
      import("../../codegen/schema-files.ts"),
      import("../../codegen/message-types.ts"),
      import("../../codegen/pydantic.ts"),
    ]);
    try {
      const definitions = await readSchema(input.in);
      return await emit(context, input, generatePydantic(definitions, basename(input.in)));
    } catch (error) {
      if (!(error instanceof SchemaError)) throw error;
      throw new CliError(error.message, { code: "bad_schema", hint: "svc codegen pydantic --help says what --in takes.", cause: error });
    }
  },
  view: generatedView,
});
