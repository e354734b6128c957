import type { DeploymentJson } from "../../../../gen/svc/v1/deployment_pb.ts";
import { escapeControls } from "../../../domain/name.ts";
import { useAnswer } from "../../api/load.ts";
import { queried, setQueried } from "../../app/place.ts";
import { environmentScope } from "../../app/who.ts";
import { DeploymentChanges } from "./deployment-changes.tsx";
import { DeploymentRates } from "./deployment-rates.tsx";
import { isReady, stateText } from "./deployment-state.tsx";
import { SourceDiff } from "./source-diff.tsx";

/** Deployments that one can compare with. */
const MOST_OFFERED = 50;

/**
 * What a deployment differs in from another one, which the address names, or from the one that was
 * live before it: definitions, source, and rates of queries.
 */
export function Comparison({ deployment }: { readonly deployment: DeploymentJson }) {
  const { branch = "", createdAt, id = "", tags = [] } = deployment;
  const other = queried("with");
  const list = useAnswer("DeploymentService/ListDeployments", { branch, pageSize: MOST_OFFERED }, environmentScope.value);
  const offered = (list.data?.deployments ?? []).filter((one) => one.id !== id);
  const ids = [...new Set([...(other === "" ? [] : [other]), ...offered.map((one) => one.id ?? "")])];
  const before = useAnswer("DeploymentService/DiffDeployment", other === "" ? { deploymentId: id } : undefined, environmentScope.value).data
    ?.diff?.baseDeploymentId;
  const compared = other || before || "";
  const found = useAnswer(
    "DeploymentService/GetDeployment",
    compared === "" ? undefined : { deploymentId: compared },
    environmentScope.value,
  ).data?.deployment;
  return (
    <>
      <h2>Changes</h2>
      <label>
        Compare with{" "}
        <select value={other} onChange={({ currentTarget }) => setQueried({ with: currentTarget.value })}>
          <option value="">the one that was live before</option>
          {ids.map((one) => {
            const known = offered.find((row) => row.id === one);
            return <option key={one} value={one}>{`${escapeControls(one)}${known ? `, ${stateText(known)}` : ""}`}</option>;
          })}
        </select>
      </label>
      <DeploymentChanges id={id} base={other} />
      {other !== "" && <SourceDiff id={id} other={other} />}
      {isReady(deployment) && (compared === "" || found) && (
        <DeploymentRates
          key={compared}
          of={{ id, tags }}
          other={found && isReady(found) ? { id: compared, tags: found.tags ?? [] } : undefined}
          createdAt={createdAt}
          isTagShared={tags[0] !== undefined && offered.some((one) => isReady(one) && one.tags?.[0] === tags[0])}
        />
      )}
    </>
  );
}
