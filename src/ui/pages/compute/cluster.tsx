import type { ClusterJson, ClusterNodeJson, PodJson } from "../../../../gen/svc/v1/cluster_pb.ts";
import { escapeControls } from "../../../domain/name.ts";
import { useAnswer } from "../../api/load.ts";
import { useCommand } from "../../app/command.ts";
import { useLive } from "../../app/live.ts";
import { environmentScope } from "../../app/who.ts";
import { Bytes } from "../../parts/bytes.tsx";
import { Command } from "../../parts/command.tsx";
import { Duration } from "../../parts/duration.tsx";
import { Facts } from "../../parts/facts.tsx";
import { Loading } from "../../parts/loading.tsx";
import { Page } from "../../parts/page.tsx";
import { Status } from "../../parts/status.tsx";
import { Time } from "../../parts/time.tsx";
import { type Column, WindowTable } from "../../parts/window-table.tsx";
import type { PageProps } from "../../routes.ts";
import { ClusterTest } from "./cluster-test.tsx";

/** One cluster: its nodes, whether it can do what it has to, and the processes in it. */
export default function Cluster({ place }: PageProps<"cluster">) {
  const command = useCommand();
  const { name: id } = place.params;
  const answer = useAnswer("ClusterService/GetCluster", { id }, environmentScope.value);
  return (
    <Page title={`Cluster ${answer.data?.cluster?.name ?? id}`} command={command("clusters", "describe", id)}>
      <Loading of={answer}>
        {({ cluster = {} }) => (
          <>
            <ClusterFacts cluster={cluster} />
            <h2>Nodes</h2>
            <WindowTable label="Nodes" columns={NODES} rows={cluster.nodes ?? []} keyOf={({ id: node = "" }) => node} />
            <ClusterTest id={id} />
            <Pods />
          </>
        )}
      </Loading>
    </Page>
  );
}

function ClusterFacts({ cluster: { createdAt, id = "", kind = "" } }: { readonly cluster: ClusterJson }) {
  return (
    <Facts
      facts={[
        ["Id", <code key="">{escapeControls(id)}</code>],
        ["Kind", escapeControls(kind)],
        ["Created", <Time key="" at={createdAt} />],
      ]}
    />
  );
}

const NODES: readonly Column<ClusterNodeJson>[] = [
  { name: "id", title: "Node", wraps: true, width: "16rem", cell: ({ id = "" }) => <code>{escapeControls(id)}</code> },
  {
    name: "state",
    title: "State",
    width: "7rem",
    cell: ({ draining = false }) => <Status tone={draining ? "warn" : "good"}>{draining ? "draining" : "running"}</Status>,
  },
  { name: "host", title: "Machine", wraps: true, width: "10rem", cell: ({ host = "" }) => escapeControls(host) },
  { name: "machine", title: "Size", width: "13rem", cell: ({ machine }) => machine && <Machine machine={machine} /> },
  { name: "version", title: "Version", width: "6rem", cell: ({ version = "" }) => escapeControls(version) },
  { name: "started", title: "Started", width: "12rem", cell: ({ startedAt }) => <Time at={startedAt} /> },
];

function Machine({
  machine: { cpus = 0, memoryBytes = "0", platform = "" },
}: {
  readonly machine: NonNullable<ClusterNodeJson["machine"]>;
}) {
  return (
    <span title={platform}>
      {cpus} {cpus === 1 ? "processor" : "processors"}, <Bytes count={Number(memoryBytes)} />
    </span>
  );
}

const PODS: readonly Column<PodJson>[] = [
  {
    name: "name",
    title: "Process",
    wraps: true,
    width: "20rem",
    cell: ({ name = "" }) => <span class="name">{escapeControls(name)}</span>,
  },
  { name: "kind", title: "Kind", width: "7rem", cell: ({ kind = "" }) => escapeControls(kind) },
  {
    name: "status",
    title: "State",
    width: "7rem",
    cell: ({ ready = false, status = "" }) => <Status tone={ready ? "good" : "busy"}>{status.toLowerCase()}</Status>,
  },
  { name: "restarts", title: "Restarts", width: "6rem", isNumber: true, cell: ({ restarts = 0 }) => restarts },
  {
    name: "cpu",
    title: "CPU time",
    width: "7rem",
    isNumber: true,
    cell: ({ cpuSeconds = 0 }) => <Duration ms={Number(cpuSeconds) * 1_000} />,
  },
  {
    name: "memory",
    title: "Memory",
    width: "7rem",
    isNumber: true,
    cell: ({ memoryBytes = "0" }) => memoryBytes !== "0" && <Bytes count={Number(memoryBytes)} />,
  },
  { name: "started", title: "Started", width: "10rem", cell: ({ startedAt }) => <Time at={startedAt} /> },
];

/** The processes that run, of the environments that the reader may see. */
function Pods() {
  const command = useCommand();
  const answer = useAnswer("ClusterService/ListPods", {}, environmentScope.value);
  useLive(["runs", "deployments"], answer.reload);
  return (
    <>
      <h2>Processes</h2>
      <Command line={command("pods")} />
      <Loading of={answer}>
        {({ pods = [] }) => (
          <WindowTable label="Processes" columns={PODS} rows={pods} keyOf={({ kind = "", name = "" }) => `${kind} ${name}`} />
        )}
      </Loading>
    </>
  );
}
