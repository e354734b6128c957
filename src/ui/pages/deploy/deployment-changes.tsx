import type { ChangeKindJson, DeploymentDiffJson } from "../../../../gen/svc/v1/deployment_pb.ts";
import { escapeControls, readableName } from "../../../domain/name.ts";
import { useAnswer } from "../../api/load.ts";
import { href } from "../../app/place.ts";
import { environmentScope } from "../../app/who.ts";
import { Loading } from "../../parts/loading.tsx";
import { Status, type Tone } from "../../parts/status.tsx";
import { type Column, WindowTable } from "../../parts/window-table.tsx";

interface Change {
  readonly kind: string;
  readonly what: "feature" | "resolver";
  readonly name: string;
  readonly details: string;
}

const TONES: Readonly<Record<string, Tone>> = { added: "good", changed: "warn", removed: "bad" };
const COLUMNS: readonly Column<Change>[] = [
  { name: "kind", title: "Change", width: "8rem", cell: ({ kind }) => <Status tone={TONES[kind] ?? "dim"}>{kind}</Status> },
  { name: "what", title: "What", width: "7rem", cell: ({ what }) => what },
  { name: "name", title: "Name", width: "20rem", cell: ({ name }) => <code>{escapeControls(name)}</code> },
  { name: "details", title: "Details", cell: ({ details }) => escapeControls(details) },
];

/** What a deployment changed against the one that was live before it. */
export function DeploymentChanges({ id }: { readonly id: string }) {
  const answer = useAnswer("DeploymentService/DiffDeployment", { deploymentId: id }, environmentScope.value);
  if (answer.error?.code === "failed_precondition") return null;
  return (
    <>
      <h2>Changes</h2>
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
        {base !== "" && (
          <a class="name" href={href("deployment", { id: base }, { deployment: "" })}>
            {escapeControls(base)}
          </a>
        )}
      </p>
      {changes.length === 0 ? (
        <p>No resolver and no feature changed.</p>
      ) : (
        <WindowTable label="Changes" columns={COLUMNS} rows={changes} keyOf={({ what, name }) => `${what} ${name}`} />
      )}
    </>
  );
}

function changesOf({ features = [], resolvers = [] }: DeploymentDiffJson): Change[] {
  const kindOf = (change: ChangeKindJson | undefined) => (change ?? "").replace("CHANGE_KIND_", "").toLowerCase();
  return [
    ...resolvers.map(({ fqn = "", change, oldVersion, newVersion }) => ({
      ...{ kind: kindOf(change), what: "resolver" as const, name: fqn },
      details: `version ${[oldVersion, newVersion].filter(Boolean).join(" -> ")}`,
    })),
    ...features.map(({ fqn = "", change, details = [] }) => ({
      ...{ kind: kindOf(change), what: "feature" as const, name: readableName(fqn), details: details.join("; ") },
    })),
  ];
}
