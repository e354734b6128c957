import { join } from "node:path";
import { defineCommand } from "../cli/command.ts";
import { bool, path } from "../cli/flag.ts";
import type { Context } from "../context/context.ts";
import { analyzedFiles } from "../domain/source-file.ts";
import { turns } from "../domain/wakeup.ts";
import { CliError } from "../errors/cli-error.ts";
import { textView } from "../output/view.ts";
import type { Project } from "../project/project.ts";
import { overwriteFlags, refuseForeign } from "./codegen/out-flags.ts";

/** The stubs that were written or removed; those that were right already are left. */
interface Written {
  readonly written: readonly string[];
  readonly removed: readonly string[];
  readonly unchanged: number;
}

export default defineCommand({
  summary: "Generate Python stubs",
  category: "Build and deploy",
  description:
    "Writes a .pyi file beside each module with feature classes, by which mypy and pyright know the features: `email: User.email` is a type to them, and a " +
    "name that is no feature is an error. They follow from the text of the folder alone. Type checkers take nothing but names in annotations: there a " +
    'window is User.fails__600__ (its seconds) for pyright, which cannot read User.fails["10m"], and conditions, slices and `Features[User] - User.id` ' +
    "need a `# type: ignore`. Let .gitignore or .svcignore have *.pyi, and stubgen run where types are checked; a stub whose module is gone is removed.",
  examples: ["svc stubgen", { run: "svc stubgen --watch", does: "And again whenever a file changes" }, "svc stubgen --root services/risk"],
  flags: {
    watch: bool("generate them again when files change"),
    root: path("the project's folder", { aliases: ["--project-root"], defaultText: "the one with svc.yaml", placeholder: "<folder>" }),
    ...overwriteFlags,
  },
  run(context, { force, root, watch }): Promise<Written> | AsyncIterable<Written> {
    return watch ? whileWatched(context, root, force) : writeStubs(context, root, force);
  },
  view: textView(
    ({ removed, unchanged, written }: Written) =>
      [
        ...written.map((file) => `Wrote ${file}`),
        ...removed.map((file) => `Removed ${file}`),
        ...(written.length + removed.length === 0 ? [`${unchanged} stub${unchanged === 1 ? " is" : "s are"} up to date`] : []),
      ].join("\n"),
    ({ removed, unchanged, written }) => ({ written, removed, unchanged }),
  ),
});

async function openProject(context: Context, root: string | undefined): Promise<Project> {
  if (root === undefined) return context.project();
  const { loadProject } = await import("../project/load.ts");
  return loadProject(root, context.surroundings);
}

async function writeStubs(context: Context, root: string | undefined, force: boolean): Promise<Written> {
  const { machine } = context;
  const project = await openProject(context, root);
  const [{ generateStubs }, { isGenerated }, { readProjectText }] = await Promise.all([
    import("../codegen/stubs.ts"),
    import("../codegen/mark.ts"),
    import("../project/lint/lint.ts"),
  ]);
  const { environment } = context.flags;
  const paths = analyzedFiles((await project.files(environment)).map((file) => file.path)).filter((file) => file.endsWith(".py"));
  const texts = await Promise.all(paths.map((file) => machine.readText(join(project.root, file))));
  const files = paths.flatMap((file, at) => (texts[at] === undefined ? [] : [{ path: file, text: texts[at] }]));
  const stubs = generateStubs(readProjectText({ files }).model);
  if (stubs.length === 0 && files.length > 0) context.progress.note("No file of the project defines a feature class at its top level.");
  await refuseForeign(
    context,
    stubs.map((stub) => join(project.root, stub.path)),
    { force },
  );
  const written: string[] = [];
  for (const stub of stubs) {
    const file = join(project.root, stub.path);
    if ((await machine.readText(file)) === stub.text) continue;
    await machine.writeFile(file, stub.text);
    written.push(stub.path);
  }
  const removed: string[] = [];
  const right = new Set(stubs.map((stub) => stub.path));
  const { listFiles } = await import("../project/ignore.ts");
  for (const { path: file } of await listFiles(project.root)) {
    if (!file.endsWith(".pyi") || right.has(file)) continue;
    if (!isGenerated((await machine.readText(join(project.root, file))) ?? "")) continue;
    await machine.remove(join(project.root, file));
    removed.push(file);
  }
  return { written, removed, unchanged: stubs.length - written.length };
}

async function* whileWatched(context: Context, root: string | undefined, force: boolean): AsyncIterable<Written> {
  const { machine, progress, signal } = context;
  const project = await openProject(context, root);
  const changes = turns(signal, (wake, until) =>
    machine.watch(project.root, (paths) => paths.some((file) => /\.py$|svc\.ya?ml$|ignore$/.test(file)) && wake(), {
      signal: until,
      debounceMs: 100,
    }),
  );
  let isFirst = true;
  for await (const _ of changes) {
    try {
      const written = await writeStubs(context, project.root, force);
      if (isFirst || written.written.length + written.removed.length > 0) yield written;
      if (isFirst) progress.note(`Watching ${project.root} for changes; Ctrl-C stops.`);
    } catch (error) {
      if (isFirst || !(error instanceof CliError) || signal.aborted) throw error;
      progress.warn(error.message);
    }
    isFirst = false;
  }
}
