import { defineCommand } from "../../cli/command.ts";
import { list, path, text } from "../../cli/flag.ts";
import { didYouMean } from "../../domain/closest.ts";
import { rawName } from "../../domain/name.ts";
import { CliError, UsageError } from "../../errors/cli-error.ts";
import { textView } from "../../output/view.ts";
import { featureJson } from "./metadata-view.ts";

/** The metadata, and the file that it was written to. */
interface Resolved {
  readonly path: string | undefined;
  readonly features: readonly unknown[];
}

export default defineCommand({
  summary: "Print metadata of given features",
  examples: ["svc features resolve --fqns user.id,user.email", "svc features resolve --fqns user.id --out user.json"],
  needs: ["session"],
  flags: {
    fqns: list(text("comma list of FQNs", { required: true, placeholder: "<fqn,...>", names: "feature" }), { split: true }),
    out: path("file to write; left out or -: stdout", { placeholder: "<file>" }),
  },
  async run({ api, machine }, { fqns, out }): Promise<Resolved> {
    if (fqns.length === 0) throw new UsageError("--fqns names no feature");
    const { features } = await (await api.graph()).listFeatures({});
    const known = new Map(features.map((metadata) => [metadata.feature?.fqn ?? "", metadata]));
    const found = fqns.map((given) => {
      const metadata = known.get(rawName(given.trim()));
      if (metadata) return featureJson(metadata);
      const near = didYouMean(given, known.keys());
      throw new CliError(`there is no feature '${given}'${near ? `; ${near}` : ""}`, {
        code: "not_found",
        hint: "`svc features list` shows all.",
      });
    });
    if (out === undefined || out === "-") return { path: undefined, features: found };
    await machine.writeFile(out, `${JSON.stringify({ features: found }, null, 2)}\n`);
    return { path: out, features: found };
  },
  view: textView(
    (resolved: Resolved) => resolved.path ?? JSON.stringify({ features: resolved.features }, null, 2),
    ({ features }) => ({ features }),
  ),
});
