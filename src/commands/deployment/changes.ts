import { ChangeKind, type DeploymentDiff } from "../../../gen/svc/v1/deployment_pb.ts";
import { defineCommand } from "../../cli/command.ts";
import { text } from "../../cli/flag.ts";
import { readableName } from "../../domain/name.ts";
import { answerDocument } from "../../output/json-view.ts";
import { tableView } from "../../output/view.ts";
import { deploymentArg, givenDeployment } from "./flags.ts";

/** One line of a diff. */
interface Change {
  readonly change: ChangeKind;
  readonly what: "evaluation" | "function" | "feature" | "monitor" | "resolver";
  readonly name: string;
  readonly details: string;
}

const WORDS: Readonly<Record<ChangeKind, string>> = {
  [ChangeKind.UNSPECIFIED]: "",
  [ChangeKind.ADDED]: "added",
  [ChangeKind.CHANGED]: "changed",
  [ChangeKind.REMOVED]: "removed",
};

export default defineCommand({
  summary: "List what a deployment changed",
  description:
    "Resolvers, features, monitors, evaluations and functions that were added, changed or removed since the deployment that was live before it, or since another one. `svc diff` compares the source.",
  examples: ["svc deployment changes dpl_0198c0de", { run: "svc deployment changes green --base blue", does: "What two tags stand for" }],
  needs: ["session"],
  args: deploymentArg,
  flags: { base: text("id or tag of the deployment to compare with; default: the one that was live before") },
  async run(context, { base = "", id }) {
    const deployments = await context.api.deployments();
    const deploymentId = await givenDeployment(context, id);
    const { diff } = await deployments.diffDeployment({ deploymentId, baseDeploymentId: base });
    if (diff) context.progress.note(diff.baseDeploymentId === "" ? "Nothing was live before it." : `Against ${diff.baseDeploymentId}.`);
    return diff;
  },
  view: tableView<DeploymentDiff | undefined, Change>({
    things: "changes",
    rows: changesOf,
    columns: [
      {
        header: "Change",
        cell: ({ change }) => WORDS[change] ?? "",
        style: (word, style, { change }) =>
          change === ChangeKind.ADDED ? style.green(word) : change === ChangeKind.REMOVED ? style.red(word) : style.yellow(word),
      },
      { header: "What", cell: ({ what }) => what },
      { header: "Name", cell: ({ name }) => name },
      { header: "Details", flexible: true, cell: ({ details }) => details },
    ],
    json: (diff) => diff && answerDocument(diff),
    long: true,
  }),
});

function changesOf(diff: DeploymentDiff | undefined): Change[] {
  const { evaluations = [], features = [], functions = [], monitors = [], resolvers = [] } = diff ?? {};
  return [
    ...resolvers.map(({ change, fqn, newVersion, oldVersion }) => ({
      ...{ change, what: "resolver" as const, name: fqn },
      details: `version ${[oldVersion, newVersion].filter(Boolean).join(" -> ")}`,
    })),
    ...features.map(({ change, details, fqn }) => ({
      change,
      what: "feature" as const,
      name: readableName(fqn),
      details: details.join("; "),
    })),
    ...monitors.map(({ change, details, name }) => ({ change, what: "monitor" as const, name, details: details.join("; ") })),
    ...evaluations.map(({ change, details, name }) => ({ change, what: "evaluation" as const, name, details: details.join("; ") })),
    ...functions.map(({ change, details, name }) => ({ change, what: "function" as const, name, details: details.join("; ") })),
  ];
}
