import type { StreamPartitionJson, StreamStandingJson } from "../../../../gen/svc/v1/stream_pb.ts";
import { escapeControls } from "../../../domain/name.ts";
import { visibleLines } from "../../../domain/visible.ts";
import { useAnswer } from "../../api/load.ts";
import { useCommand } from "../../app/command.ts";
import { useLive } from "../../app/live.ts";
import { environmentScope } from "../../app/who.ts";
import { Command } from "../../parts/command.tsx";
import { Facts } from "../../parts/facts.tsx";
import { Loading } from "../../parts/loading.tsx";
import { MetricChart } from "../../parts/metric-chart.tsx";
import { Page } from "../../parts/page.tsx";
import { Range } from "../../parts/range.tsx";
import { Time } from "../../parts/time.tsx";
import type { PageProps } from "../../routes.ts";
import { FeatureLink } from "../define/feature-link.tsx";
import { streamMetric } from "../define/metric-expressions.ts";
import { SourceLink } from "../define/source-link.tsx";
import { ResolverLink } from "../run/answer.tsx";
import { State } from "../run/state.tsx";
import { DeadLetters } from "./dead-letters.tsx";
import { PauseStream, PushMessage, ReplayLetters, SeekStream } from "./stream-actions.tsx";
import { partitionText } from "./stream-text.ts";

/** One stream: how far it is, what it put aside, and what steers it. */
export default function Stream({ place }: PageProps<"stream">) {
  const command = useCommand();
  const { name } = place.params;
  const answer = useAnswer("StreamService/GetStream", { name }, environmentScope.value);
  useLive(["streams"], answer.reload);
  const { stream } = answer.data ?? {};
  return (
    <Page
      title={`Stream ${name}`}
      command={command("streams", "get", name)}
      actions={stream && <Actions stream={stream} onDone={answer.reload} />}
    >
      <Loading of={answer}>{({ stream: shown = {} }) => <Content stream={shown} onDone={answer.reload} />}</Loading>
    </Page>
  );
}

interface StreamParts {
  readonly stream: StreamStandingJson;
  readonly onDone: () => void;
}

function Actions({ stream: { name = "", source = "", status, topic = "" }, onDone }: StreamParts) {
  return (
    <>
      <PauseStream {...{ name, onDone }} isPaused={status === "STREAM_STATUS_PAUSED" || status === "STREAM_STATUS_FAILED"} />
      {source !== "" && <SeekStream {...{ name, onDone }} />}
      {source !== "" && <PushMessage {...{ topic, onDone }} />}
    </>
  );
}

function Content({ stream, onDone }: StreamParts) {
  const command = useCommand();
  const { deadLetters = "0", lag, name = "", outputs = [], partitions = [], problem = "", source = "", status, topic = "" } = stream;
  const isDefined = source !== "";
  return (
    <>
      <Facts
        facts={[
          ["State", <State key="" of={status} prefix="STREAM_STATUS_" isService />],
          ["Problem", problem !== "" && <span class="bad">{visibleLines(problem)}</span>],
          ["Lag", lag !== undefined && `${lag} messages`],
          ["Resolver", isDefined && <ResolverLink fqn={name} />],
          ["Source", isDefined && <SourceLink name={source} />],
          ["Topic", escapeControls(topic)],
          ["Features", outputs.length > 0 && outputs.map((fqn) => <FeatureLink key={fqn} fqn={fqn} />)],
          ["Partitions", partitions.length > 0 && <Partitions all={partitions} />],
        ]}
      />
      <h2>Messages</h2>
      <Range />
      <div class="board">
        <MetricChart label="Messages read" expressions={[["read", streamMetric("sum", "stream.messages", name)]]} />
        <MetricChart label="Lag" expressions={[["lag", streamMetric("max", "stream.lag", name)]]} />
      </div>
      {deadLetters !== "0" && (
        <>
          <h2>Dead letters</h2>
          <Command line={command("streams", "dead-letters", "list", name)} />
          {isDefined && (
            <p class="actions">
              <ReplayLetters {...{ name, onDone }} />
            </p>
          )}
          <DeadLetters name={name} />
        </>
      )}
    </>
  );
}

function Partitions({ all }: { readonly all: readonly StreamPartitionJson[] }) {
  return (
    <ul class="plain-list">
      {all.map((partition) => (
        <li key={partition.partition ?? 0}>
          {partitionText(partition)}
          {partition.watermark !== undefined && (
            <>
              , rows up to <Time at={partition.watermark} />
            </>
          )}
        </li>
      ))}
    </ul>
  );
}
