import { join } from "node:path";
import { defineCommand } from "../../cli/command.ts";
import { path } from "../../cli/flag.ts";
import { textView } from "../../output/view.ts";
import { featureJson } from "./metadata-view.ts";

/** The metadata, and the file that it was written to. */
interface Written {
  readonly path: string | undefined;
  readonly document: unknown;
}

export default defineCommand({
  summary: "Write feature metadata to a file; list and search features",
  category: "Query and explore",
  description: "With --json the metadata is printed as well; without --out it is then only printed.",
  examples: ["svc features", { run: "svc features --out -", does: "Print the metadata" }, "svc features --json"],
  needs: ["session"],
  flags: {
    out: path("file to write; - is stdout", {
      defaultText: "<project>_features_<environment id>_<deployment id>.json",
      placeholder: "<file>",
    }),
  },
  async run({ api, flags, machine }, { out }): Promise<Written> {
    const listed = await (await api.graph()).listFeatures({});
    const document = {
      project: listed.projectName,
      environment_id: listed.environmentId,
      deployment_id: listed.deploymentId,
      features: listed.features.map(featureJson),
    };
    if (out === "-" || (out === undefined && flags.json)) return { path: undefined, document };
    const name = [listed.projectName || "project", "features", listed.environmentId, listed.deploymentId].map(fileSafe).join("_");
    const file = out ?? join(flags.dir, `${name}.json`);
    await machine.writeFile(file, `${JSON.stringify(document, null, 2)}\n`);
    return { path: file, document };
  },
  view: textView(
    ({ path: file, document }: Written) => file ?? JSON.stringify(document, null, 2),
    ({ document }) => document,
  ),
});

function fileSafe(part: string): string {
  return part.replace(/[^A-Za-z0-9._-]+/g, "-");
}
