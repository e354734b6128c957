import { escapeControls } from "../../../domain/name.ts";
import { visibleLines } from "../../../domain/visible.ts";
import { useAnswer } from "../../api/load.ts";
import { useCommand } from "../../app/command.ts";
import { useLive } from "../../app/live.ts";
import { href, scope } from "../../app/place.ts";
import { useEnvironments } from "../../app/who.ts";
import { Command } from "../../parts/command.tsx";
import { Duration } from "../../parts/duration.tsx";
import { Facts } from "../../parts/facts.tsx";
import { Loading } from "../../parts/loading.tsx";
import { Page } from "../../parts/page.tsx";
import { Status, type Tone } from "../../parts/status.tsx";
import { DeploymentLink } from "../deploy/deployment-link.tsx";
import { DeploymentTable } from "../deploy/deployment-table.tsx";
import { FirstSteps } from "./first-steps.tsx";
import { Recently } from "./recently.tsx";

const LATEST = 5;
const TONES: Readonly<Record<string, Tone>> = { OK: "good", FAILING: "bad", NOT_CONFIGURED: "dim" };

/** What is live in the environment, whether the server is well, and the way on from there. */
export default function Overview() {
  const command = useCommand();
  const { branch, environment } = scope.value;
  const own = { environment, branch, deployment: "" };
  const latest = useAnswer("DeploymentService/ListDeployments", { branch, pageSize: LATEST }, own);
  const features = useAnswer("GraphService/ListFeatures", {}, scope.value);
  const health = useAnswer("HealthService/CheckHealth", {}, own);
  const { environments } = useEnvironments();
  const current = environments.find(({ id, name }) => id === environment || name === environment);
  useLive(["deployments"], latest.reload);
  useLive([], health.reload);
  const deployments = latest.data?.deployments ?? [];
  const live = deployments.filter((one) => one.live).map(({ id = "" }) => id);
  const used = features.data?.deploymentId;
  const dropped = health.data?.droppedRecords ?? "0";
  const hasFeatures = (features.data?.features ?? []).length > 0;
  return (
    <Page title={current ? `Environment ${current.name}` : "Overview"} command={command("deployment", "list")}>
      <Facts
        facts={[
          ["Project", current?.projectName && escapeControls(current.projectName)],
          ["Branch", branch !== "" && escapeControls(branch)],
          ["Live", <Live key="" ids={live.length > 0 || !used ? live : [used]} />],
          ["Features", hasFeatures && <a href={href("features", {})}>{features.data?.features?.length}</a>],
          ["Dropped", dropped !== "0" && <Status tone="warn">{`${dropped} records of queries and logs since the server started`}</Status>],
          ["Suspended", current?.suspendedAt && <Status tone="warn">since {current.suspendedAt}</Status>],
        ]}
      />
      {latest.data && !hasFeatures && <FirstSteps hasDeployments={deployments.length > 0} hasFeatures={hasFeatures} />}
      {hasFeatures && <Recently />}
      <h2>Latest deployments</h2>
      <Loading of={latest}>
        {() =>
          deployments.length === 0 ? (
            <p class="dim">None yet.</p>
          ) : (
            <>
              <DeploymentTable deployments={deployments} />
              <p>
                <a href={href("deployments", {})}>All deployments</a>
              </p>
            </>
          )
        }
      </Loading>
      <h2>Health</h2>
      <Loading of={health}>
        {({ checks = [], version }) => (
          <>
            <ul class="checks">
              {checks.map(({ name = "", status = "", message = "", latencyMs }) => (
                <li key={name}>
                  <Status tone={TONES[status.replace("HEALTH_CHECK_STATUS_", "")] ?? "dim"}>
                    {status.replace("HEALTH_CHECK_STATUS_", "").toLowerCase().replace("_", " ")}
                  </Status>
                  <span>{escapeControls(name)}</span>
                  <span class="dim">{visibleLines(message)}</span>
                  <span class="dim">{typeof latencyMs === "number" && <Duration ms={latencyMs} />}</span>
                </li>
              ))}
            </ul>
            <p class="dim">
              svc {version}. The same on a terminal: <Command line="svc healthcheck" />
            </p>
          </>
        )}
      </Loading>
    </Page>
  );
}

function Live({ ids }: { readonly ids: readonly string[] }) {
  return ids.length === 0 ? (
    <span class="dim">nothing yet</span>
  ) : (
    ids.map((id, at) => [at > 0 && <br />, <DeploymentLink key={id} id={id} />])
  );
}
