import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { DeploymentJson } from "../../../../gen/svc/v1/deployment_pb.ts";
import { CallError, call } from "../../api/call.ts";
import { useAnswer } from "../../api/load.ts";
import { useCommand } from "../../app/command.ts";
import { queried, scope, setQueried } from "../../app/place.ts";
import { environmentScope } from "../../app/who.ts";
import { Command } from "../../parts/command.tsx";
import { Diff } from "../../parts/diff.tsx";
import { Failed } from "../../parts/failed.tsx";
import { Skeleton } from "../../parts/skeleton.tsx";
import { Time } from "../../parts/time.tsx";
import { DeploymentLink } from "../deploy/deployment-link.tsx";
import { type DeployedResolver, type ResolverVersion, versionsOf } from "./resolver-version-list.ts";

/** The latest deployments that are looked at, and how many at a time. */
const MOST_DEPLOYMENTS = 20;
const AT_ONCE = 4;

/** The versions of a resolver in the latest deployments, and what one changed in its code. */
export function ResolverVersions({ fqn }: { readonly fqn: string }) {
  const { branch } = scope.value;
  const list = useAnswer("DeploymentService/ListDeployments", { branch, pageSize: MOST_DEPLOYMENTS }, environmentScope.value);
  const ids = list.data?.deployments?.map(({ id = "" }) => id).join(" ") ?? "";
  const found = useSignal<readonly DeployedResolver[] | CallError | undefined>(undefined);
  const load = () => {
    let isWanted = true;
    found.value = undefined;
    const settle = (what: readonly DeployedResolver[] | CallError) => {
      if (isWanted) found.value = what;
    };
    deployedResolvers(list.data?.deployments ?? [], fqn).then(settle, (error: unknown) =>
      settle(error instanceof CallError ? error : new CallError("unknown", String(error))),
    );
    return () => {
      isWanted = false;
    };
  };
  useEffect(() => (ids === "" ? undefined : load()), [ids, fqn]);
  if (list.error) return <Failed error={list.error} onRetry={list.reload} />;
  if (found.value instanceof CallError) return <Failed error={found.value} onRetry={load} />;
  if (!list.data || (ids !== "" && !found.value)) return <Skeleton lines={4} />;
  return <Versions fqn={fqn} versions={versionsOf(found.value ?? [])} isCut={list.data.nextPageToken !== undefined} />;
}

interface VersionsParts {
  readonly fqn: string;
  readonly versions: readonly ResolverVersion[];
  /** Whether there are older deployments that were not looked at. */
  readonly isCut: boolean;
}

function Versions({ fqn, isCut, versions }: VersionsParts) {
  const command = useCommand();
  const chosen = versions.find(({ deployment }) => deployment === queried("since")) ?? versions[0];
  if (!chosen) return <p class="dim">None of the latest deployments has it.</p>;
  const { before, deployment, text } = chosen;
  return (
    <>
      <ul class="plain-list" aria-label="Versions">
        {versions.map((one) => (
          <li key={one.deployment}>
            <button
              type="button"
              class="quiet"
              aria-pressed={one === chosen}
              onClick={() => setQueried({ since: one === versions[0] ? "" : one.deployment })}
            >
              {`Version ${one.version}`}
            </button>{" "}
            <Time at={one.createdAt} /> <DeploymentLink id={one.deployment} />
            {one.deployments > 1 && <span class="dim">{` and in ${one.deployments - 1} after it`}</span>}
          </li>
        ))}
      </ul>
      {isCut && <p class="dim">{`The latest ${MOST_DEPLOYMENTS} deployments were looked at.`}</p>}
      <Command line={command("resolvers", "show", fqn, "--deployment-id", before?.deployment ?? deployment)} />
      {before === undefined ? (
        <p class="dim">{isCut ? "What was before it is not among them." : "It is the first version."}</p>
      ) : text === "" || before.text === "" ? (
        <p class="dim">The source of one of the two is not kept.</p>
      ) : (
        <Diff label={`Version ${before.version} to ${chosen.version}`} before={before.text} after={text} />
      )}
    </>
  );
}

/** What deployments have of a resolver, in their order; those that do not have it are left out. */
async function deployedResolvers(deployments: readonly DeploymentJson[], resolver: string): Promise<readonly DeployedResolver[]> {
  const found: DeployedResolver[] = [];
  for (let from = 0; from < deployments.length; from += AT_ONCE)
    for (const one of await Promise.all(
      deployments.slice(from, from + AT_ONCE).map((deployment) => deployedResolver(deployment, resolver)),
    ))
      if (one) found.push(one);
  return found;
}

async function deployedResolver({ createdAt = "", id = "" }: DeploymentJson, resolver: string): Promise<DeployedResolver | undefined> {
  try {
    const request = { resolver, deploymentId: id };
    const { source, version = 1 } = await call("GraphService/GetResolver", request, environmentScope.value);
    return { deployment: id, createdAt, version, text: source?.text ?? "" };
  } catch (error) {
    // A deployment that failed or is gone has none either.
    if (error instanceof CallError && (error.code === "not_found" || error.code === "failed_precondition")) return undefined;
    throw error;
  }
}
