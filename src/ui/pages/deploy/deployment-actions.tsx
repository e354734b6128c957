import type { DeploymentJson } from "../../../../gen/svc/v1/deployment_pb.ts";
import { escapeControls } from "../../../domain/name.ts";
import { call } from "../../api/call.ts";
import { Action } from "../../app/action.tsx";
import { scope } from "../../app/place.ts";
import { environmentScope } from "../../app/who.ts";
import { stateText } from "./deployment-state.tsx";

/**
 * What can be done with a deployment: one that is ready is promoted, one that is live rolled back.
 */
export function DeploymentActions({ deployment, onDone }: { readonly deployment: DeploymentJson; readonly onDone: () => void }) {
  const { id = "", branch = "" } = deployment;
  const place = branch === "" ? "the environment" : `branch ${escapeControls(branch)}`;
  const state = stateText(deployment);
  const promote = async () => {
    await call("DeploymentService/PromoteDeployment", { deploymentId: id }, environmentScope.value);
    return `${id} is live.`;
  };
  const rollBack = async () => {
    const { deployment: now } = await call("DeploymentService/RollBackDeployment", {}, { ...environmentScope.value, branch });
    return `${now?.id ?? "The one before"} is live again.`;
  };
  if (state === "ready")
    return (
      <Action
        verb="Promote"
        question={`Make ${id} live?`}
        permission="deploy"
        words={["deployment", "promote", id]}
        act={promote}
        onDone={onDone}
      >
        <p>From then on it answers the queries of {place}, in place of what is live now.</p>
      </Action>
    );
  if (state !== "live") return null;
  return (
    <Action
      verb="Roll back"
      question={`Roll ${place} back?`}
      permission="deploy"
      typed={id}
      words={["deployment", "rollback", branch === scope.value.branch ? undefined : `--branch=${branch}`]}
      act={rollBack}
      onDone={onDone}
    >
      <p>The deployment that was live before this one answers the queries of {place} again.</p>
    </Action>
  );
}
