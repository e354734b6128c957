import { defineCommand } from "../cli/command.ts";
import { bool } from "../cli/flag.ts";
import type { Context } from "../context/context.ts";
import { isError } from "../domain/finding.ts";
import { UsageError } from "../errors/cli-error.ts";
import { formatDiagnostics, lspDiagnostic } from "../output/diagnostic.ts";
import { textView } from "../output/view.ts";
import { type Validation, validateProject } from "../project/validate.ts";

/** Name of the environment that the server will compare with; undefined when it does not say, which the validation then reports. */
async function activeEnvironment(context: Context): Promise<string | undefined> {
  try {
    return (await (await context.api.auth()).whoAmI({}, { signal: context.signal })).environmentName;
  } catch (error) {
    if (context.signal.aborted) throw error;
    return undefined;
  }
}

type Findings = Pick<Validation, "diagnostics" | "source"> & { readonly root: string };

export default defineCommand({
  summary: "Validate the project locally, then remotely",
  description:
    "Reads the Python and SQL files, imports the Python modules, and then asks the server about sources, statements and stored types. The server is " +
    "asked only when nothing is wrong so far. With --json the findings are an array of the language server protocol's diagnostics.",
  examples: ["svc lint", { run: "svc lint --local", does: "Without a server" }, { run: "svc lint --json", does: "For an editor" }],
  needs: ["project"],
  flags: {
    local: bool("local validation only", { aliases: ["--local-only"] }),
    lsp: bool("LSP validation only (calls the server)", { aliases: ["--lsp-only"] }),
  },
  check({ local, lsp }) {
    if (local && lsp) throw new UsageError("--local and --lsp exclude each other");
  },
  async run(context, { local, lsp }): Promise<Findings> {
    const branch = typeof context.flags.branch === "string" ? context.flags.branch : "";
    const environmentName = local ? undefined : await activeEnvironment(context);
    const validation = await validateProject(context, { remote: !local, branch, environmentName });
    const diagnostics = lsp && validation.remote ? validation.remote : validation.diagnostics;
    if (!local && !validation.remote) context.progress.note("The server was not asked: mend the errors first.");
    return { diagnostics, source: validation.source, root: validation.project.root };
  },
  exitCode: ({ diagnostics }) => (diagnostics.some(isError) ? 1 : 0),
  view: textView(
    ({ diagnostics, source }: Findings, style) => formatDiagnostics(diagnostics, source, style),
    ({ diagnostics, source, root }: Findings) => diagnostics.map((diagnostic) => lspDiagnostic(diagnostic, source, root)),
  ),
});
