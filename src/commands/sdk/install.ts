import { buildInfo } from "../../build-info.ts";
import { defineCommand } from "../../cli/command.ts";
import { text } from "../../cli/flag.ts";
import type { InstalledPackage } from "../../client-packages/install-wheel.ts";
import { textView } from "../../output/view.ts";

export default defineCommand({
  summary: "Install the Python package into an environment",
  description:
    "The package of this build takes the place of any other version, by the environment's own pip, or by uv where it has none. Nothing is downloaded, and " +
    "nothing else is installed. A Python that belongs to the system is refused: make a virtual environment. Projects that `svc apply` deploys need no " +
    "installation; editors, type checkers, tests and programs that query do.",
  examples: [
    "svc sdk install",
    { run: "svc sdk install --python .venv", does: "Into a virtual environment, by its folder" },
    { run: "svc sdk install --python python3.12", does: "Into an interpreter on PATH" },
  ],
  flags: {
    python: text("interpreter, or folder of a virtual environment", {
      placeholder: "<path>",
      defaultText: "the active environment, else .venv",
    }),
  },
  async run(context, { python }): Promise<InstalledPackage> {
    const [{ installWheel }, { wheel }] = await Promise.all([
      import("../../client-packages/install-wheel.ts"),
      import("../../client-packages/wheel.ts"),
    ]);
    return installWheel(context, python, await wheel(buildInfo));
  },
  view: textView(
    (installed: InstalledPackage) => `svc ${installed.version} is installed for Python ${installed.python_version}: ${installed.location}`,
  ),
});
