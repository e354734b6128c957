import type {
  ChangeKindJson,
  DeploymentDiffJson,
  EvaluationChangeJson,
  FunctionChangeJson,
  MonitorChangeJson,
} from "../../../../gen/svc/v1/deployment_pb.ts";
import { escapeControls, readableName } from "../../../domain/name.ts";
import { visibleLines } from "../../../domain/visible.ts";
import { useAnswer } from "../../api/load.ts";
import { useCommand } from "../../app/command.ts";
import { environmentScope } from "../../app/who.ts";
import { Command } from "../../parts/command.tsx";
import { Loading } from "../../parts/loading.tsx";
import { Status, type Tone } from "../../parts/status.tsx";
import { type Column, WindowTable } from "../../parts/window-table.tsx";
import { DeploymentLink } from "./deployment-link.tsx";

interface Change {
  readonly kind: string;
  readonly what: "evaluation" | "feature" | "function" | "monitor" | "resolver";
  readonly name: string;
  readonly details: string;
}

const TONES: Readonly<Record<string, Tone>> = { added: "good", changed: "warn", removed: "bad" };
const COLUMNS: readonly Column<Change>[] = [
  { name: "kind", title: "Change", width: "8rem", cell: ({ kind }) => <Status tone={TONES[kind] ?? "dim"}>{kind}</Status> },
  { name: "what", title: "What", width: "7rem", cell: ({ what }) => what },
  { name: "name", title: "Name", wraps: true, width: "20rem", cell: ({ name }) => <code>{escapeControls(name)}</code> },
  { name: "details", title: "Details", wraps: true, cell: ({ details }) => escapeControls(details) },
];

interface ChangesParts {
  readonly id: string;
  /** Id of the deployment to compare with; empty = the one that was live before. */
  readonly base: string;
}

/** What a deployment changed against another one. */
export function DeploymentChanges({ id, base }: ChangesParts) {
  const command = useCommand();
  const request = { deploymentId: id, ...(base !== "" && { baseDeploymentId: base }) };
  const answer = useAnswer("DeploymentService/DiffDeployment", request, environmentScope.value);
  if (answer.error?.code === "failed_precondition") return <p class="dim">{visibleLines(answer.error.message)}</p>;
  return (
    <>
      <Command line={command("deployment", "changes", id, ...(base === "" ? [] : ["--base", base]))} />
      <Loading of={answer}>{({ diff = {} }) => <Changes diff={diff} />}</Loading>
    </>
  );
}

function Changes({ diff }: { readonly diff: DeploymentDiffJson }) {
  const base = diff.baseDeploymentId ?? "";
  const changes = changesOf(diff);
  return (
    <>
      <p class="dim">
        {base === "" ? "Nothing was live before it." : "Against "}
        {base !== "" && <DeploymentLink id={base} />}
      </p>
      {changes.length === 0 ? (
        <p>No resolver, feature, monitor, evaluation or function changed.</p>
      ) : (
        <WindowTable label="Changes" columns={COLUMNS} rows={changes} keyOf={({ what, name }) => `${what} ${name}`} />
      )}
    </>
  );
}

function changesOf({ evaluations = [], features = [], functions = [], monitors = [], resolvers = [] }: DeploymentDiffJson): Change[] {
  const kindOf = (change: ChangeKindJson | undefined) => (change ?? "").replace("CHANGE_KIND_", "").toLowerCase();
  const named = (
    what: "evaluation" | "function" | "monitor",
    { name = "", change, details = [] }: EvaluationChangeJson | FunctionChangeJson | MonitorChangeJson,
  ): Change => ({
    ...{ kind: kindOf(change), what, name, details: details.join("; ") },
  });
  return [
    ...resolvers.map(({ fqn = "", change, oldVersion, newVersion }) => ({
      ...{ kind: kindOf(change), what: "resolver" as const, name: fqn },
      details: `version ${[oldVersion, newVersion].filter(Boolean).join(" -> ")}`,
    })),
    ...features.map(({ fqn = "", change, details = [] }) => ({
      ...{ kind: kindOf(change), what: "feature" as const, name: readableName(fqn), details: details.join("; ") },
    })),
    ...monitors.map((monitor) => named("monitor", monitor)),
    ...evaluations.map((evaluation) => named("evaluation", evaluation)),
    ...functions.map((one) => named("function", one)),
  ];
}
