import type { CallFunctionResponse, FunctionError } from "../../../gen/svc/v1/function_pb.ts";
import { defineCommand } from "../../cli/command.ts";
import { int, path, text } from "../../cli/flag.ts";
import type { Context } from "../../context/context.ts";
import { visibleLines } from "../../domain/visible.ts";
import { CliError, UsageError } from "../../errors/cli-error.ts";
import { bytesView, choiceView, textView, type View } from "../../output/view.ts";

/** Bytes for stdout, or the file that they were written to. */
type Shown =
  | { readonly form: "bytes"; readonly bytes: Uint8Array }
  | { readonly form: "file"; readonly path: string; readonly answer: CallFunctionResponse };

export default defineCommand({
  summary: "Call a function synchronously",
  description:
    "The arguments are a table in Arrow's IPC format, a stream or a file (feather), whose columns are the parameters; the function is called for each row. The result has one column, `result`, and is written as the arguments were. " +
    "Without --input-file it is called once, without arguments. Ctrl-C ends the call.",
  examples: [
    "svc compute call --name fee -i amounts.arrow -o fees.arrow",
    { run: "svc compute call --name fee --version 2 -i - < amounts.arrow > fees.arrow", does: "An earlier version, in a pipe" },
    { run: "svc compute call --name refresh_rates -o rates.arrow", does: "A function without arguments" },
  ],
  needs: ["session"],
  flags: {
    name: text("name of the function", { aliases: ["-n"], placeholder: "<function>", required: true }),
    version: int("its version", { defaultText: "the live one", min: 1, max: 2_147_483_647 }),
    inputFile: path("arguments, Arrow IPC; - reads stdin", { aliases: ["-i"], placeholder: "<file>" }),
    outputFile: path("file for the result; -: stdout", { aliases: ["-o"], default: "-", placeholder: "<file>" }),
  },
  check({ outputFile }, { flags, io }) {
    if (outputFile !== "-") return;
    if (io.stdoutIsTTY) throw new UsageError("the result is bytes, which a terminal cannot show: write them to a file with -o");
    if (flags.shape?.jq !== undefined || flags.shape?.template !== undefined)
      throw new UsageError("the result is bytes, which neither --jq nor --template reads: write them to a file with -o");
  },
  async run(context, { inputFile, name, outputFile, version = 0 }): Promise<Shown> {
    const given = await argumentsFrom(context, inputFile);
    const answer = await (await context.api.functions()).callFunction({
      ...{ name, version },
      ...(given && { arguments: { form: { case: "arrow", value: given } } }),
    });
    if (answer.error) throw failed(context, answer.error);
    const bytes = bytesOf(answer);
    if (outputFile === "-") return { form: "bytes", bytes };
    await context.machine.writeFile(outputFile, bytes);
    return { form: "file", path: outputFile, answer };
  },
  view: choiceView<Shown>(({ form }) => (form === "bytes" ? BYTES : FILE) as View<never>),
});

const BYTES = bytesView(({ bytes }: Extract<Shown, { form: "bytes" }>) => bytes);
const FILE = textView(
  (shown: Extract<Shown, { form: "file" }>) => shown.path,
  ({ answer, path: written }) => ({
    path: written,
    version: answer.version,
    deployment_id: answer.deploymentId,
    trace_id: answer.traceId,
    ran_ms: answer.ranMs,
  }),
);

async function argumentsFrom({ io, machine }: Context, file: string | undefined): Promise<Uint8Array | undefined> {
  if (file === undefined) return undefined;
  const bytes = file === "-" ? await io.readAll() : await machine.readBytes(file);
  if (!bytes) throw new CliError(`there is no file ${file}`, { code: "not_found" });
  if (bytes.length === 0)
    throw new CliError(file === "-" ? "stdin has no bytes" : `${file} has no bytes`, {
      code: "no_arguments",
      hint: "Arguments are a table in Arrow's IPC format; leave --input-file out for a function without any.",
    });
  return bytes;
}

/** The bytes of a result. */
function bytesOf({ result }: CallFunctionResponse): Uint8Array {
  if (result?.form.case !== "arrow") throw new CliError("the server answered with no table", { code: "broken_answer" });
  return result.form.value;
}

/** The failure of a function, whose traceback stands above it. */
function failed({ progress }: Context, { exception, message }: FunctionError): CliError {
  if (exception && exception.stacktrace !== "") progress.note(visibleLines(exception.stacktrace.trimEnd()));
  return new CliError(message, {
    code: "function_failed",
    ...(exception && { details: { exception: { ...exception, $typeName: undefined } } }),
  });
}
