import { useComputed, useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { DeploymentJson } from "../../../../gen/svc/v1/deployment_pb.ts";
import { escapeControls } from "../../../domain/name.ts";
import { visibleLines } from "../../../domain/visible.ts";
import type { CallError } from "../../api/call.ts";
import { useAnswer } from "../../api/load.ts";
import { useCommand } from "../../app/command.ts";
import { follow, useLive } from "../../app/live.ts";
import { href } from "../../app/place.ts";
import { environmentScope } from "../../app/who.ts";
import { Badge } from "../../parts/badge.tsx";
import { ExternalLink } from "../../parts/external-link.tsx";
import { Facts } from "../../parts/facts.tsx";
import { Failed } from "../../parts/failed.tsx";
import { Findings } from "../../parts/findings.tsx";
import { Loading } from "../../parts/loading.tsx";
import { Page } from "../../parts/page.tsx";
import { Time } from "../../parts/time.tsx";
import type { PageProps } from "../../routes.ts";
import { Comparison } from "./comparison.tsx";
import { DeploymentActions } from "./deployment-actions.tsx";
import { DeploymentLog } from "./deployment-log.tsx";
import { DeploymentState, isReady, isUnderWay } from "./deployment-state.tsx";
import { LatestQueries } from "./latest-queries.tsx";

/** One deployment: its state as it changes, what it was made from, and what was found. */
export default function Deployment({ place }: PageProps<"deployment">) {
  const command = useCommand();
  const { id } = place.params;
  const answer = useAnswer("DeploymentService/GetDeployment", { deploymentId: id }, environmentScope.value);
  const watched = useWatched(id, answer.data?.deployment);
  useLive(["deployments"], answer.reload, answer.data?.deployment !== undefined && !isUnderWay(answer.data.deployment));
  const shown = watched.deployment ?? answer.data?.deployment;
  return (
    <Page
      title={`Deployment ${id}`}
      command={command("deployment", "get", id)}
      actions={shown && <DeploymentActions deployment={shown} onDone={answer.reload} />}
    >
      <Loading of={answer} lines={8}>
        {() => shown && <Content deployment={shown} progress={watched.progress} error={watched.error} />}
      </Loading>
    </Page>
  );
}

function Content({
  deployment,
  progress,
  error,
}: {
  readonly deployment: DeploymentJson;
  readonly progress: string;
  readonly error: CallError | undefined;
}) {
  const {
    approvalId,
    branch = "",
    ciJobUrl,
    createdAt,
    description = "",
    id = "",
    diagnostics = [],
    metadata = {},
    repositoryUrl,
    sourceSha256,
    tags = [],
    updatedAt,
  } = deployment;
  return (
    <>
      <Facts
        facts={[
          ["State", <DeploymentState key="" deployment={deployment} />],
          ["Doing", isUnderWay(deployment) && progress !== "" && visibleLines(progress)],
          ["Error", deployment.error && <span class="bad">{visibleLines(deployment.error)}</span>],
          ["Approval", approvalId && escapeControls(approvalId)],
          ["Branch", branch !== "" && <a href={href("deployments", {}, { branch, deployment: "" })}>{escapeControls(branch)}</a>],
          [
            "Defines",
            isReady(deployment) && (
              <a key="" href={href("features", {}, { branch, deployment: id })}>
                its features
              </a>
            ),
          ],
          ["Tags", tags.length > 0 && tags.map((tag) => <Badge key={tag} text={tag} />)],
          ["Created", <Time key="" at={createdAt} />],
          ["Changed", <Time key="" at={updatedAt} />],
          ["CI job", ciJobUrl && <ExternalLink address={ciJobUrl} />],
          ["Repository", repositoryUrl && <ExternalLink address={repositoryUrl} />],
          ...Object.entries(metadata).map(([name, value]) => [escapeControls(name), escapeControls(value)] as const),
          ["Source", <code key="">{sourceSha256}</code>],
        ]}
      />
      {description !== "" && (
        <>
          <h2>Description</h2>
          <pre class="block">{visibleLines(description)}</pre>
        </>
      )}
      {diagnostics.length > 0 && (
        <>
          <h2>Findings</h2>
          <Findings findings={diagnostics} />
        </>
      )}
      {error && <Failed error={error} />}
      {!isUnderWay(deployment) && <Comparison deployment={deployment} />}
      <DeploymentLog id={id} progress={progress} />
      {isReady(deployment) && <LatestQueries deploymentId={id} />}
    </>
  );
}

/** What the stream of a deployment says, from when its page is opened until it has settled. */
function useWatched(id: string, answered: DeploymentJson | undefined) {
  const deployment = useSignal<DeploymentJson | undefined>(undefined);
  const progress = useSignal("");
  const error = useSignal<CallError | undefined>(undefined);
  const isOpen = answered !== undefined && isUnderWay(answered);
  useEffect(() => {
    deployment.value = undefined;
  }, [answered]);
  useEffect(() => {
    if (!isOpen) return;
    return follow(
      "DeploymentService/WatchDeployment",
      () => ({ deploymentId: id }),
      environmentScope.value,
      (message) => {
        if (message.deployment) deployment.value = message.deployment;
        progress.value = message.progress || progress.value;
      },
      (ended) => {
        error.value = ended;
      },
    );
  }, [id, isOpen]);
  return useComputed(() => ({ deployment: deployment.value, progress: progress.value, error: error.value })).value;
}
