import { join, posix } from "node:path";
import { defineCommand } from "../../../cli/command.ts";
import { path } from "../../../cli/flag.ts";
import type { Context } from "../../../context/context.ts";
import { CliError } from "../../../errors/cli-error.ts";
import { textView } from "../../../output/view.ts";
import { kernelName, kernelSpec, kernelsFolder } from "../../../project/kernel-spec.ts";

/** A kernel spec that was written. */
interface Installed {
  readonly name: string;
  readonly path: string;
  readonly python: string;
}

export default defineCommand({
  summary: "Offer the project's environment to Jupyter as a kernel",
  description:
    "Writes a kernel spec, by which JupyterLab, VS Code and other programs of Jupyter on this machine start ipykernel with the project's requirements, its modules " +
    "and the SDK. ipykernel has to be among the requirements. Such a kernel runs on this machine, without the environment's variables; " +
    "`svc notebook exec` runs cells on the server. Run it again after `svc update`, and when the requirements change.",
  examples: [
    "svc notebook kernel install",
    { run: "svc notebook kernel install --prefix .venv", does: "For the Jupyter of a virtual environment alone" },
  ],
  needs: ["project"],
  flags: {
    prefix: path("folder of an environment whose Jupyter is to have it; default: that of this user", { placeholder: "<folder>" }),
    python: path("interpreter that has ipykernel; default: that of the project's requirements", { placeholder: "<file>" }),
  },
  async run(context, { prefix, python: given }): Promise<Installed> {
    const { machine, surroundings } = context;
    const { name: project, root } = await context.project();
    const python = given ?? (await projectPython(context));
    await requireIpykernel(context, python);
    const name = kernelName(project);
    const folder = prefix === undefined ? kernelsFolder(surroundings) : join(prefix, "share", "jupyter", "kernels");
    const file = join(folder, name, "kernel.json");
    await machine.writeFile(file, kernelSpec({ project, root, python, sdkRoot: await context.python().sdkRoot() }));
    return { name, path: file, python };
  },
  view: textView((installed: Installed) => `Kernel ${installed.name}: ${installed.path}`),
});

/** The interpreter of the project's requirements, for the environment that is selected. */
async function projectPython(context: Context): Promise<string> {
  const project = await context.project();
  const { requirements: file, runtime } = project.environment((await context.settings()).environment.value);
  const requirementsFile = file && posix.normalize(file);
  const requirements = requirementsFile ? await context.machine.readText(join(project.root, requirementsFile)) : undefined;
  return context.progress.step("Preparing Python", (say) =>
    context.python().environmentPython({
      ...{ root: project.root, signal: context.signal, onProgress: say },
      ...(runtime && { runtime }),
      ...(requirements !== undefined && requirementsFile && { requirements, requirementsFile }),
    }),
  );
}

async function requireIpykernel({ machine }: Context, python: string): Promise<void> {
  const found = await machine.run([python, "-c", "import ipykernel"]).catch((error: unknown) => {
    throw new CliError(`${python} cannot be started`, { code: "no_python", cause: error });
  });
  if (found.exitCode === 0) return;
  throw new CliError(`${python} has no ipykernel, which Jupyter's kernels of Python are`, {
    code: "no_ipykernel",
    hint: "Add a line `ipykernel` to the requirements file that svc.yaml names, and run this again; or give --python with an interpreter that has it.",
  });
}
