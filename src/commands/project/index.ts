import { defineCommand } from "../../cli/command.ts";
import { bool } from "../../cli/flag.ts";
import type { Context } from "../../context/context.ts";
import { escapeControls } from "../../domain/name.ts";
import { CliError, UsageError } from "../../errors/cli-error.ts";
import { formatDiagnostic } from "../../output/diagnostic.ts";
import { TableLayout } from "../../output/table.ts";
import { textView } from "../../output/view.ts";
import type { Project, ProjectEnvironment } from "../../project/project.ts";

type Shown = { readonly project: Project } | { readonly edited: string };

export default defineCommand({
  summary: "Print the project configuration",
  category: "Set up",
  description:
    "The project file, svc.yaml or svc.yml, is looked for in the working directory and in the folders above it. One that another user owns, or that lies in " +
    "another user's folder, is not used by any command, because its Python code would run as you, unless SVC_TRUSTED_PROJECTS names its folder (several " +
    "are parted as in PATH, `*` stands for all). Its `project:` names the project on the server that the folder is deployed to, and no other; the first folder " +
    "that is applied to a new server gives its name to the project `default`, every other one gets a project of its own.",
  examples: ["svc project", { run: "svc project --edit", does: "Open svc.yaml in the editor" }],
  flags: {
    edit: bool("open the config file in $VISUAL/$EDITOR instead"),
  },
  async run(context, { edit }): Promise<Shown> {
    if (edit) {
      const edited = await openEditor(context);
      await warnOfFindings(context);
      return { edited };
    }
    await warnOfFindings(context);
    return { project: await context.project() };
  },
  view: textView(
    (shown: Shown, style) => {
      if ("edited" in shown) return "";
      const { name, environments } = shown.project;
      const table = new TableLayout<ProjectEnvironment>(
        [
          { header: "Environment", cell: (row) => row.name },
          { header: "Requirements", cell: (row) => row.requirements ?? "" },
          { header: "Runtime", cell: (row) => row.runtime ?? "" },
          ...(environments.some(({ venvs }) => venvs) ? [{ header: "Venvs", cell: venvNames }] : []),
        ],
        style,
      );
      return `${style.dim("Name")}  ${escapeControls(name)}\n\n${table.rows(environments)}`;
    },
    (shown: Shown) => ("edited" in shown ? shown : document(shown.project)),
  ),
});

function venvNames({ venvs = [] }: ProjectEnvironment): string {
  return venvs.map(({ name }) => name).join(", ");
}

function document({ name, root, configPath, environments, validation }: Project): unknown {
  return {
    name,
    root,
    config_file: configPath,
    environments: environments.map((environment) => ({
      environment: environment.name,
      requirements: environment.requirements ?? null,
      runtime: environment.runtime ?? null,
      venvs: (environment.venvs ?? []).map(({ name: venv, requirements, runtime = null }) => ({ name: venv, requirements, runtime })),
      dockerfile: environment.dockerfile ?? null,
      platform_version: environment.platformVersion ?? null,
      ignore_file: environment.ignoreFile ?? null,
    })),
    validation,
  };
}

/**
 * Opens the project file in the editor and waits until the editor ends. A file that is not valid
 * YAML can be opened too.
 */
async function openEditor({ flags, io, machine, surroundings }: Context): Promise<string> {
  const { projectFileOf } = await import("../../project/load.ts");
  const path = await projectFileOf(flags.dir, surroundings);
  if (!io.stdinIsTTY || !io.stdoutIsTTY)
    throw new UsageError("--edit opens an editor, and there is no terminal for it", { hint: `The project file is ${path}.` });
  const { env, platform } = surroundings;
  const editor = env.VISUAL || env.EDITOR || (platform === "win32" ? "notepad" : ["nano", "vi"].find((name) => machine.which(name)));
  if (!editor)
    throw new CliError("There is no editor to open the project file with.", {
      code: "no_editor",
      hint: "Set $VISUAL or $EDITOR, for example `export EDITOR=vi`.",
    });
  const argv = editor.split(/\s+/).filter((word) => word !== "");
  const { exitCode } = await machine.run([...argv, path], { inherit: true });
  if (exitCode !== 0) throw new CliError(`The editor (${editor}) ended with exit code ${exitCode}.`, { code: "editor_failed" });
  return path;
}

/** Prints the findings about the project file on stderr. */
async function warnOfFindings(context: Context): Promise<void> {
  const project = await context.project();
  if (project.diagnostics.length === 0) return;
  const text = await context.machine.readText(project.configPath);
  for (const diagnostic of project.diagnostics) context.progress.note(formatDiagnostic(diagnostic, () => text));
}
