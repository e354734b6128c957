import { useSignal } from "@preact/signals";
import type { DeploymentJson, ListDeploymentsResponseJson } from "../../../../gen/svc/v1/deployment_pb.ts";
import { CallError, call } from "../../api/call.ts";
import { useAnswer } from "../../api/load.ts";
import { useCommand } from "../../app/command.ts";
import { useLive } from "../../app/live.ts";
import { scope } from "../../app/place.ts";
import { Empty } from "../../parts/empty.tsx";
import { Failed } from "../../parts/failed.tsx";
import { Loading } from "../../parts/loading.tsx";
import { Page } from "../../parts/page.tsx";
import { Pager } from "../../parts/pager.tsx";
import { DeploymentTable } from "./deployment-table.tsx";

const PAGE_SIZE = 50;

/** The deployments of the environment, or of a branch. */
export default function Deployments() {
  const command = useCommand();
  const { branch, environment } = scope.value;
  const own = { environment, branch, deployment: "" };
  const answer = useAnswer("DeploymentService/ListDeployments", { branch, pageSize: PAGE_SIZE }, own);
  useLive(["deployments"], answer.reload);
  return (
    <Page title={branch === "" ? "Deployments" : `Deployments of branch ${branch}`} command={command("deployment", "list")}>
      <Loading of={answer} lines={8}>
        {(first) =>
          (first.deployments ?? []).length === 0 ? (
            <Empty command={branch === "" ? "svc apply" : `svc apply --branch ${branch}`}>
              Nothing was deployed here yet. Deploy a project:
            </Empty>
          ) : (
            <AllPages first={first} />
          )
        }
      </Loading>
    </Page>
  );
}

/** The first page, which is kept at the present, and those that were asked for after it. */
function AllPages({ first }: { readonly first: ListDeploymentsResponseJson }) {
  const older = useSignal<readonly DeploymentJson[]>([]);
  const token = useSignal<string | undefined>(undefined);
  const error = useSignal<CallError | undefined>(undefined);
  const isLoading = useSignal(false);
  const next = token.value ?? first.nextPageToken ?? "";
  const newest = first.deployments ?? [];
  const known = new Set(newest.map(({ id }) => id));
  const rows = [...newest, ...older.value.filter(({ id }) => !known.has(id))];
  const more = async () => {
    isLoading.value = true;
    error.value = undefined;
    const { branch } = scope.value;
    const request = { branch, pageSize: PAGE_SIZE, pageToken: next };
    try {
      const page = await call("DeploymentService/ListDeployments", request, { ...scope.value, deployment: "" });
      older.value = [...older.value, ...(page.deployments ?? [])];
      token.value = page.nextPageToken ?? "";
    } catch (thrown) {
      error.value = thrown instanceof CallError ? thrown : new CallError("unknown", String(thrown));
    } finally {
      isLoading.value = false;
    }
  };
  return (
    <>
      <DeploymentTable deployments={rows} />
      {error.value && <Failed error={error.value} />}
      <Pager things="deployments" shown={rows.length} hasMore={next !== ""} isLoading={isLoading.value} onMore={() => void more()} />
    </>
  );
}
