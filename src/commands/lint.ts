import { defineCommand } from "../cli/command.ts";
import { bool } from "../cli/flag.ts";
import { currentBranch } from "../config/branch.ts";
import { type Validation, validateProject } from "../deploy/validate.ts";
import { isError } from "../domain/finding.ts";
import { CliError, UsageError } from "../errors/cli-error.ts";
import { toCliError } from "../errors/report.ts";
import { formatDiagnostics, lspDiagnostic } from "../output/diagnostic.ts";
import { textView } from "../output/view.ts";

interface Findings extends Pick<Validation, "diagnostics" | "source"> {
  readonly root: string;
  /** Why only this machine's half was done, where both were asked for. */
  readonly failure: CliError | undefined;
}

/** The failure to ask the server, told after the findings of this machine. */
async function localOnly(cause: unknown): Promise<CliError> {
  const { code, details, exitCode, hint, message } = await toCliError(cause);
  const text = `only the checks of this machine were made, for the server could not be asked: ${message}`;
  return new CliError(text, { code, details, exitCode, hint: `${hint ? `${hint}\n` : ""}Without a server: svc lint --local`, cause });
}

export default defineCommand({
  summary: "Validate the project locally, then remotely",
  category: "Build and deploy",
  description:
    "Reads the Python and SQL files, imports the Python modules, and then asks the server about sources, statements and stored types. The server is " +
    "asked only when nothing is wrong so far; when it cannot be asked, what was found without it is printed, and the command fails. With --json the " +
    "findings are an array of the language server protocol's diagnostics.",
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
    const branch = local ? undefined : await currentBranch(context);
    const validation = await validateProject(context, { remote: !local, branch });
    const diagnostics = lsp && validation.remote ? validation.remote : validation.diagnostics;
    const failed = diagnostics.some(isError);
    if (failed && !local && !validation.remote) context.progress.note("The server was not asked: mend the errors first.");
    const failure = failed || validation.unasked === undefined ? undefined : await localOnly(validation.unasked);
    return { diagnostics, source: validation.source, root: validation.project.root, failure };
  },
  exitCode({ diagnostics, failure }) {
    if (failure) throw failure;
    return diagnostics.some(isError) ? 1 : 0;
  },
  view: textView(
    ({ diagnostics, source }: Findings, style) => formatDiagnostics(diagnostics, source, style),
    ({ diagnostics, source, root }: Findings) => diagnostics.map((diagnostic) => lspDiagnostic(diagnostic, source, root)),
  ),
});
