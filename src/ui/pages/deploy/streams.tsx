import type { MetricSeriesJson } from "../../../../gen/svc/v1/metric_pb.ts";
import type { StreamStandingJson } from "../../../../gen/svc/v1/stream_pb.ts";
import { escapeControls } from "../../../domain/name.ts";
import { useAnswer } from "../../api/load.ts";
import { useCommand } from "../../app/command.ts";
import { useLive } from "../../app/live.ts";
import { environmentScope } from "../../app/who.ts";
import { Empty } from "../../parts/empty.tsx";
import { Loading } from "../../parts/loading.tsx";
import { Page } from "../../parts/page.tsx";
import { type Column, WindowTable } from "../../parts/window-table.tsx";
import { StreamLink } from "../define/stream-resolver.tsx";
import { State } from "../run/state.tsx";
import { StreamRates } from "./stream-rates.tsx";

/** Resolvers of topics: how far they are, and what they put aside. */
export default function Streams() {
  const command = useCommand();
  const streams = useAnswer("StreamService/ListStreams", {}, environmentScope.value);
  const messages = useAnswer("MetricService/QueryMetric", { expression: "sum:stream.messages by {stream}" }, environmentScope.value);
  const lag = useAnswer("MetricService/QueryMetric", { expression: "max:stream.lag by {stream}" }, environmentScope.value);
  useLive(["streams", "metrics"], () => {
    for (const answer of [streams, messages, lag]) answer.reload();
  });
  return (
    <Page title="Streams" command={command("streams", "list")}>
      <Loading of={streams}>
        {({ streams: rows = [] }) => {
          if (rows.length === 0) return <Empty>No topic is read. One is with @stream(source=TopicSource(name="clicks")).</Empty>;
          return (
            <WindowTable
              label="Streams"
              columns={columnsOf({ messages: messages.data?.series ?? [], lag: lag.data?.series ?? [] })}
              rows={rows}
              rowHeight={ROW_HEIGHT}
              keyOf={({ name = "" }) => name}
            />
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
}

const columnsOf = ({ lag, messages }: ColumnsParts): readonly Column<StreamStandingJson>[] => [
  {
    name: "name",
    title: "Stream",
    width: "16rem",
    cell: ({ name = "", topic = "" }) => (
      <>
        <StreamLink fqn={name} />
        <br />
        <span class="dim">{escapeControls(topic)}</span>
      </>
    ),
  },
  { name: "status", title: "State", width: "7rem", cell: ({ status }) => <State of={status} prefix="STREAM_STATUS_" isService /> },
  { name: "lag", title: "Lag", width: "6rem", isNumber: true, cell: ({ lag = "" }) => lag },
  { name: "rates", title: "Messages, lag", width: "12rem", cell: ({ name = "" }) => <StreamRates {...{ name, messages, lag }} /> },
  { name: "letters", title: "Dead letters", width: "7rem", isNumber: true, cell: ({ deadLetters = "0" }) => deadLetters },
  { name: "problem", title: "Problem", wraps: true, width: "14rem", cell: ({ problem = "" }) => escapeControls(problem) },
];
