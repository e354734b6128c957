import type { MetricSeriesJson } from "../../../../gen/svc/v1/metric_pb.ts";
import type { StreamPartitionJson, StreamStandingJson } from "../../../../gen/svc/v1/stream_pb.ts";
import { escapeControls } from "../../../domain/name.ts";
import { visibleLines } from "../../../domain/visible.ts";
import { useAnswer } from "../../api/load.ts";
import { useCommand } from "../../app/command.ts";
import { useLive } from "../../app/live.ts";
import { queried, setQueried } from "../../app/place.ts";
import { environmentScope } from "../../app/who.ts";
import { Command } from "../../parts/command.tsx";
import { Empty } from "../../parts/empty.tsx";
import { Facts } from "../../parts/facts.tsx";
import { Loading } from "../../parts/loading.tsx";
import { Page } from "../../parts/page.tsx";
import { Time } from "../../parts/time.tsx";
import { type Column, WindowTable } from "../../parts/window-table.tsx";
import { FeatureLink } from "../define/feature-link.tsx";
import { ResolverLink } from "../run/answer.tsx";
import { State } from "../run/state.tsx";
import { DeadLetters } from "./dead-letters.tsx";
import { PauseStream, PushMessage, ReplayLetters, SeekStream } from "./stream-actions.tsx";
import { StreamRates } from "./stream-rates.tsx";
import { partitionText } from "./stream-text.ts";

/** Resolvers of topics: how far they are, what they put aside, and what steers them. */
export default function Streams() {
  const command = useCommand();
  const streams = useAnswer("StreamService/ListStreams", {}, environmentScope.value);
  const messages = useAnswer("MetricService/QueryMetric", { expression: "sum:stream.messages by {stream}" }, environmentScope.value);
  const lag = useAnswer("MetricService/QueryMetric", { expression: "max:stream.lag by {stream}" }, environmentScope.value);
  useLive(["streams", "metrics"], () => {
    for (const answer of [streams, messages, lag]) answer.reload();
  });
  const chosen = queried("stream");
  return (
    <Page title="Streams" command={command("streams", "list")}>
      <Loading of={streams}>
        {({ streams: rows = [] }) => {
          if (rows.length === 0) return <Empty>No topic is read. One is with @stream(source=TopicSource(name="clicks")).</Empty>;
          const stream = rows.find(({ name }) => name === chosen) ?? rows[0];
          return (
            <>
              <WindowTable
                label="Streams"
                columns={columnsOf({ messages: messages.data?.series ?? [], lag: lag.data?.series ?? [], chosen: stream?.name ?? "" })}
                rows={rows}
                rowHeight={ROW_HEIGHT}
                keyOf={({ name = "" }) => name}
              />
              {stream && <Details stream={stream} onDone={streams.reload} />}
            </>
          );
        }}
      </Loading>
    </Page>
  );
}

/** Of rows with two lines. */
const ROW_HEIGHT = 64;

interface ColumnsParts {
  readonly messages: readonly MetricSeriesJson[];
  readonly lag: readonly MetricSeriesJson[];
  /** Name of the stream whose details are shown. */
  readonly chosen: string;
}

const columnsOf = ({ chosen, lag, messages }: ColumnsParts): readonly Column<StreamStandingJson>[] => [
  {
    name: "name",
    title: "Stream",
    width: "16rem",
    cell: ({ name = "", topic = "" }) => (
      <>
        <button type="button" class="quiet name" aria-pressed={name === chosen} onClick={() => setQueried({ stream: name })}>
          {escapeControls(name)}
        </button>
        <br />
        <span class="dim">{escapeControls(topic)}</span>
      </>
    ),
  },
  { name: "status", title: "State", width: "7rem", cell: ({ status }) => <State of={status} prefix="STREAM_STATUS_" /> },
  { name: "lag", title: "Lag", width: "6rem", isNumber: true, cell: ({ lag = "" }) => lag },
  { name: "rates", title: "Messages, lag", width: "12rem", cell: ({ name = "" }) => <StreamRates {...{ name, messages, lag }} /> },
  { name: "letters", title: "Dead letters", width: "7rem", isNumber: true, cell: ({ deadLetters = "0" }) => deadLetters },
  { name: "problem", title: "Problem", width: "14rem", cell: ({ problem = "" }) => <span title={problem}>{escapeControls(problem)}</span> },
];

interface DetailsParts {
  readonly stream: StreamStandingJson;
  readonly onDone: () => void;
}

function Details({ stream, onDone }: DetailsParts) {
  const command = useCommand();
  const { deadLetters = "0", name = "", outputs = [], partitions = [], problem = "", source = "", status, topic = "" } = stream;
  const isDefined = source !== "";
  return (
    <section aria-label={escapeControls(name)}>
      <h2>{escapeControls(name)}</h2>
      <Command line={command("streams", "get", name)} />
      <p class="actions">
        <PauseStream {...{ name, onDone }} isPaused={status === "STREAM_STATUS_PAUSED" || status === "STREAM_STATUS_FAILED"} />
        {isDefined && <SeekStream {...{ name, onDone }} />}
        {isDefined && <PushMessage {...{ topic, onDone }} />}
      </p>
      <Facts
        facts={[
          ["Problem", problem !== "" && <span class="bad">{visibleLines(problem)}</span>],
          ["Resolver", isDefined && <ResolverLink fqn={name} />],
          ["Source", escapeControls(source)],
          ["Topic", escapeControls(topic)],
          ["Features", outputs.length > 0 && outputs.map((fqn) => <FeatureLink key={fqn} fqn={fqn} />)],
          ["Partitions", partitions.length > 0 && <Partitions all={partitions} />],
        ]}
      />
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
    </section>
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
