import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { TrafficTagJson } from "../../../../gen/svc/v1/traffic_pb.ts";
import { escapeControls } from "../../../domain/name.ts";
import { call } from "../../api/call.ts";
import { useAnswer } from "../../api/load.ts";
import { Action } from "../../app/action.tsx";
import { useCommand } from "../../app/command.ts";
import { useLive } from "../../app/live.ts";
import { environmentScope, useMay } from "../../app/who.ts";
import { Empty } from "../../parts/empty.tsx";
import { Loading } from "../../parts/loading.tsx";
import { Page } from "../../parts/page.tsx";
import { Sparkline } from "../../parts/sparkline.tsx";
import { type Column, WindowTable } from "../../parts/window-table.tsx";
import { DeploymentLink } from "./deployment-link.tsx";
import { failedShare, type Rates, ratesOf } from "./traffic-rates.ts";
import { changedWeights, type TypedWeight, trafficFlags, typedWeights, weightsProblem } from "./traffic-weights.ts";

const BY_DEPLOYMENT = " by {deployment}.rollup(1m)";

/** Which deployments answer the environment's queries, by weights of their tags. */
export default function Traffic() {
  const command = useCommand();
  const answer = useAnswer("TrafficService/GetTraffic", {}, environmentScope.value);
  useLive(["deployments"], answer.reload);
  return (
    <Page title="Traffic" command={command("traffic", "get")}>
      <Loading of={answer} lines={6}>
        {({ tags = [] }) =>
          tags.length === 0 ? (
            <Empty command="svc apply --deployment-tag blue">
              No deployment has a tag: what was made live last answers all queries. To divide them, deploy with a tag:
            </Empty>
          ) : (
            <Weights tags={tags} onDone={answer.reload} />
          )
        }
      </Loading>
    </Page>
  );
}

function Weights({ tags, onDone }: { readonly tags: readonly TrafficTagJson[]; readonly onDone: () => void }) {
  const may = useMay("traffic.write");
  const typed = useSignal<readonly TypedWeight[]>(typedWeights(tags));
  const key = JSON.stringify(tags);
  useEffect(() => {
    typed.value = typedWeights(tags);
  }, [key]);
  const change = (tag: string, part: "weight" | "mirror", value: string) => {
    typed.value = typed.value.map((one) => (one.tag === tag ? { ...one, [part]: value.trim() } : one));
  };
  const problem = weightsProblem(typed.value);
  const changes = changedWeights(tags, typed.value);
  const flags = trafficFlags(changes);
  const set = async () => {
    await call("TrafficService/SetTraffic", changes, environmentScope.value);
    return "The weights are set.";
  };
  const promote = async () => {
    await call("TrafficService/PromoteTraffic", {}, environmentScope.value);
    return "The weights are exchanged.";
  };
  const weighed = tags.filter(({ weight }) => weight !== undefined);
  const field = (tag: string, part: "weight" | "mirror") => (
    <input
      class="percent"
      inputMode="numeric"
      aria-label={`${part === "weight" ? "Percent of queries" : "Percent of copies"} of ${escapeControls(tag)}`}
      aria-invalid={problem !== undefined}
      value={typed.value.find((one) => one.tag === tag)?.[part] ?? ""}
      disabled={!may}
      onInput={({ currentTarget }) => change(tag, part, currentTarget.value)}
    />
  );
  const asked = useAnswer("MetricService/QueryMetric", { expression: `sum:query.count${BY_DEPLOYMENT}` }, environmentScope.value);
  const failing = useAnswer("MetricService/QueryMetric", { expression: `sum:query.errors${BY_DEPLOYMENT}` }, environmentScope.value);
  useLive(["metrics"], () => {
    asked.reload();
    failing.reload();
  });
  const rates = (...names: readonly string[]) => ratesOf(names, asked.data?.series ?? [], failing.data?.series ?? []);
  const columns: readonly Column<TrafficTagJson>[] = [
    { name: "tag", title: "Tag", wraps: true, width: "7rem", cell: ({ tag = "" }) => <code>{escapeControls(tag)}</code> },
    { name: "weight", title: "Queries, %", width: "7rem", cell: ({ tag = "" }) => field(tag, "weight") },
    { name: "mirror", title: "Copies, %", width: "7rem", cell: ({ tag = "" }) => field(tag, "mirror") },
    {
      name: "asked",
      title: "Queries, last hour",
      width: "10rem",
      cell: ({ deploymentId: id = "", tag = "" }) => asked.data && <Asked rates={rates(id, tag)} />,
    },
    {
      name: "failed",
      title: "With errors",
      width: "6.5rem",
      isNumber: true,
      cell: ({ deploymentId: id = "", tag = "" }) => failing.data && <Failed rates={rates(id, tag)} />,
    },
    {
      name: "deployment",
      title: "Deployment",
      width: "19rem",
      cell: ({ deploymentId: id = "" }) => id !== "" && <DeploymentLink id={id} />,
    },
    {
      name: "actions",
      title: "Actions",
      width: "7rem",
      cell: ({ tag = "", weight }) => weight !== undefined && <Suspend tag={tag} onDone={onDone} />,
    },
  ];
  return (
    <>
      <WindowTable label="Tags" columns={columns} rows={tags} keyOf={({ tag = "" }) => tag} rowHeight={40} />
      <p class={problem === undefined ? "dim" : "bad"} role="status">
        {problem ??
          (weighed.length === 0 ? "No tag has a weight: what was made live last answers all queries." : "The weights add up to 100.")}
      </p>
      <p class="actions">
        {flags.length > 0 && problem === undefined && (
          <Action
            verb="Set weights"
            question="Set the weights of the environment?"
            permission="traffic.write"
            words={["traffic", "set", ...flags]}
            act={set}
            onDone={onDone}
          />
        )}
        {flags.length === 0 && weighed.length === 2 && (
          <Action
            verb="Promote"
            question="Promote the tag of the lowest weight?"
            permission="traffic.write"
            words={["traffic", "promote"]}
            act={promote}
            onDone={onDone}
          >
            <p>It gets all queries, and the other one none. The same again takes it back.</p>
          </Action>
        )}
      </p>
    </>
  );
}

function Asked({ rates: { byMinute, queries } }: { readonly rates: Rates }) {
  return (
    <>
      <span class="figure">{queries.toLocaleString("en")}</span>{" "}
      {queries > 0 && <Sparkline label="Queries by minute" values={byMinute} width={90} height={20} />}
    </>
  );
}

function Failed({ rates }: { readonly rates: Rates }) {
  return <span class={rates.failed > 0 ? "bad" : "dim"}>{failedShare(rates)}</span>;
}

function Suspend({ tag, onDone }: { readonly tag: string; readonly onDone: () => void }) {
  const suspend = async () => {
    await call("TrafficService/SuspendTraffic", { tag }, environmentScope.value);
    return `${tag} is suspended.`;
  };
  return (
    <Action verb="Suspend" question={`Suspend ${escapeControls(tag)}?`} permission="traffic.write" act={suspend} onDone={onDone}>
      <p>It loses its weight, and its deployment stops once its queries have ended.</p>
    </Action>
  );
}
