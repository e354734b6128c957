import { defineCommand } from "../cli/command.ts";
import { bool, optionalValue, text } from "../cli/flag.ts";
import { currentBranch } from "../config/branch.ts";
import { type Validation, validateProject } from "../deploy/validate.ts";
import { isError } from "../domain/finding.ts";
import type { Rule } from "../domain/rules/rule.ts";
import { findRule, nearRules, RULES } from "../domain/rules/rules.ts";
import { CliError, UsageError } from "../errors/cli-error.ts";
import { toCliError } from "../errors/report.ts";
import { formatDiagnostics, lspDiagnostic } from "../output/diagnostic.ts";
import { explainedRule, ruleJson } from "../output/rule-text.ts";
import { choiceView, tableView, textView } from "../output/view.ts";

interface Findings extends Pick<Validation, "diagnostics" | "source"> {
  readonly root: string;
  /** The reason why only local rules were checked although the server was to be asked too. */
  readonly failure: CliError | undefined;
}

/** The requested rule, or all rules. */
type Explained = { readonly rule: Rule } | { readonly rules: readonly Rule[] };

/** The rule with that number or id. Throws UsageError with the nearest ones when there is none. */
function explain(named: string): Rule {
  const rule = findRule(named);
  if (rule) return rule;
  const near = nearRules(named).map(({ code, id }) => `${code} (${id})`);
  const nearest = near.length > 0 ? `; the nearest ${near.length > 1 ? "are" : "is"} ${near.join(", ")}` : "";
  throw new UsageError(`there is no rule '${named}'${nearest}`, { hint: "`svc lint --explain` lists all rules." });
}

const findingsView = textView(
  ({ diagnostics, source }: Findings, style) => formatDiagnostics(diagnostics, source, style),
  ({ diagnostics, source, root }: Findings) => diagnostics.map((diagnostic) => lspDiagnostic(diagnostic, source, root)),
);
const ruleView = textView(
  ({ rule }: { readonly rule: Rule }, style) => explainedRule(rule, style),
  ({ rule }) => ruleJson(rule),
);
const rulesView = tableView({
  rows: ({ rules }: { readonly rules: readonly Rule[] }) => rules,
  columns: [
    { header: "NUMBER", align: "right", cell: ({ code }: Rule) => String(code) },
    { header: "ID", cell: ({ id }: Rule) => id },
    { header: "SEVERITY", cell: ({ severity }: Rule) => severity },
    { header: "RULE", cell: ({ title }: Rule) => title, flexible: true },
  ],
  things: "rules",
  json: ({ rules }) => ({ rules: rules.map(ruleJson) }),
  long: true,
});

/** The error that says why the server was not asked, shown after the local findings. */
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
    "findings are an array of the language server protocol's diagnostics. What a finding means, `svc lint --explain` says by its number, and the " +
    "manual page svc-lint-rules for all of them.",
  examples: [
    "svc lint",
    { run: "svc lint --local", does: "Without a server" },
    { run: "svc lint --json", does: "For an editor" },
    { run: "svc lint --explain 153", does: "What Error[153] means, with an example" },
  ],
  flags: {
    local: bool("local validation only", { aliases: ["--local-only"] }),
    lsp: bool("LSP validation only (calls the server)", { aliases: ["--lsp-only"] }),
    explain: optionalValue(text("print what a rule means instead of validating; bare = list the rules", { placeholder: "<rule>" })),
  },
  check({ explain, local, lsp }) {
    if (explain !== undefined && (local || lsp)) throw new UsageError("--explain validates nothing: it takes no --local and no --lsp");
    if (local && lsp) throw new UsageError("--local and --lsp exclude each other");
  },
  async run(context, { explain: named, local, lsp }): Promise<Findings | Explained> {
    if (named !== undefined) return named === true ? { rules: RULES } : { rule: explain(named) };
    await context.project();
    const branch = local ? undefined : await currentBranch(context);
    const validation = await validateProject(context, { remote: !local, branch });
    const diagnostics = lsp && validation.remote ? validation.remote : validation.diagnostics;
    const failed = diagnostics.some(isError);
    if (failed && !local && !validation.remote) context.progress.note("The server was not asked: mend the errors first.");
    const failure = failed || validation.serverFailure === undefined ? undefined : await localOnly(validation.serverFailure);
    return { diagnostics, source: validation.source, root: validation.project.root, failure };
  },
  exitCode(data) {
    if (!("diagnostics" in data)) return 0;
    if (data.failure) throw data.failure;
    return data.diagnostics.some(isError) ? 1 : 0;
  },
  view: choiceView<Findings | Explained>((data) => ("diagnostics" in data ? findingsView : "rule" in data ? ruleView : rulesView)),
});
