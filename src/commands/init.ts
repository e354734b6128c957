import { basename, join } from "node:path";
import { defineCommand } from "../cli/command.ts";
import { escapeControls } from "../domain/name.ts";
import { textView } from "../output/view.ts";

interface Outcome {
  readonly written: readonly string[];
  readonly left: readonly string[];
}

export default defineCommand({
  summary: "Write a project that can be applied as it stands",
  category: "Set up",
  description:
    "Writes svc.yaml and .svcignore and, where there is no Python yet, features.py with a feature class and a resolver to begin with. What exists already is " +
    "left as it is.",
  examples: ["svc init", { run: "svc init && svc apply --await", does: "Write a project and deploy it" }],
  async run({ flags, machine }): Promise<Outcome> {
    const { listFiles } = await import("../project/ignore.ts");
    const there = await listFiles(flags.dir);
    const hasPython = there.some((file) => file.path.endsWith(".py"));
    const hasProject = await machine.exists(join(flags.dir, "svc.yml"));
    const written: string[] = [];
    const left: string[] = [];
    for (const [name, content] of [
      ["svc.yaml", projectFile(basename(flags.dir))],
      [".svcignore", IGNORE_FILE],
      ["features.py", EXAMPLE],
    ] as const) {
      const path = join(flags.dir, name);
      if (name === "svc.yaml" && hasProject) left.push("svc.yml");
      else if (await machine.exists(path)) left.push(name);
      else if (name !== "features.py" || !hasPython) {
        await machine.writeFile(path, content);
        written.push(name);
      }
    }
    return { written, left };
  },
  view: textView(({ written, left }: Outcome, style) =>
    [
      ...written.map((name) => `Wrote ${escapeControls(name)}`),
      ...left.map((name) => `Left ${escapeControls(name)} as it is`),
      ...(written.includes("features.py")
        ? ["", "Deploy it, and ask for a feature:", ...NEXT_STEPS.map((line) => `  ${style.cyan(line)}`)]
        : []),
    ].join("\n"),
  ),
});

/** The next steps after an example was written. */
const NEXT_STEPS = ["svc apply --await", "svc query --in user.id=1 --in user.email=ada@example.com --out user.domain"];

/** The project file of a folder, whose name becomes the project's. */
function projectFile(folder: string): string {
  const name =
    folder
      .toLowerCase()
      .replaceAll(/[^a-z0-9]+/g, "_")
      .replaceAll(/^_+|_+$/g, "") || "my_project";
  return `project: ${/^\d+$/.test(name) ? `project_${name}` : name}
environments:
  default:
    # Python that runs the resolvers: python310, python311, python312 or python313. Left out, the
    # newest one found is taken.
    # runtime: python311
    # Packages that the code imports.
    # requirements: requirements.txt
`;
}

const IGNORE_FILE = `# What is not uploaded, beside what .gitignore names; same syntax.
.svc/
*.log
*.ipynb
tests/
# What svc itself writes here: svc features, svc branch source, svc stubgen
*_features_env_*.json
dpl_*/
*.pyi
`;

const EXAMPLE = `"""A first feature class and a resolver: \`svc apply\` deploys them, \`svc query\` asks."""

from svc import online
from svc.features import features


@features
class User:
    id: int
    # Address that the user signed up with
    email: str
    # What stands behind the @ of the address, in lower case
    domain: str


@online
def email_domain(email: User.email) -> User.domain:
    return email.rpartition("@")[2].lower()
`;
