import type { TraceServiceGetTraceResponseJson } from "../../../../gen/svc/v1/trace_pb.ts";
import { escapeControls } from "../../../domain/name.ts";
import { useAnswer } from "../../api/load.ts";
import { useCommand } from "../../app/command.ts";
import { href, queried, setQueried } from "../../app/place.ts";
import { environmentScope } from "../../app/who.ts";
import { Duration } from "../../parts/duration.tsx";
import { Empty } from "../../parts/empty.tsx";
import { Facts } from "../../parts/facts.tsx";
import { Loading } from "../../parts/loading.tsx";
import { Page } from "../../parts/page.tsx";
import { SearchBox } from "../../parts/search-box.tsx";
import { Time } from "../../parts/time.tsx";
import type { PageProps } from "../../routes.ts";
import { durationMs } from "../define/feature-text.ts";

import { spansWith } from "../run/run-spans.ts";
import { Spans } from "../run/spans.tsx";

/** One trace: its spans over time, and those that a word finds. */
export default function Trace({ place }: PageProps<"trace">) {
  const command = useCommand();
  const { id } = place.params;
  const answer = useAnswer("TraceService/GetTrace", { traceId: id }, environmentScope.value);
  return (
    <Page title={`Trace ${id}`} command={command("trace", "get", "--trace-id", id)}>
      {answer.error?.code === "not_found" ? (
        <Empty command={command("trace", "list")}>
          No such trace: it is of another server or environment, or older than what is kept. Those that there are:
        </Empty>
      ) : (
        <Loading of={answer} lines={10}>
          {(data) => <Content data={data} />}
        </Loading>
      )}
    </Page>
  );
}

function Content({ data: { spans = [], trace = {} } }: { readonly data: TraceServiceGetTraceResponseJson }) {
  const { duration, errorCount = 0, operationId = "", queryName = "", serviceName = "", spanCount = 0, startTime } = trace;
  const search = queried("q");
  const found = spansWith(spans, search);
  return (
    <>
      <Facts
        facts={[
          ["Start", <Time key="" at={startTime} />],
          ["Took", <Duration key="" ms={durationMs(duration)} />],
          ["Spans", String(spanCount)],
          ["With errors", errorCount > 0 && <span class="bad">{errorCount}</span>],
          ["Service", serviceName !== "" && escapeControls(serviceName)],
          ["Query", queryName !== "" && escapeControls(queryName)],
          [
            "Query run",
            operationId !== "" && (
              <a class="name" href={href("queryRun", { id: operationId })}>
                {escapeControls(operationId)}
              </a>
            ),
          ],
        ]}
      />
      <SearchBox
        label="Search the spans"
        placeholder="name, fact, error"
        value={search}
        onSearch={(q) => setQueried({ q })}
        found={`${found.length} of ${spans.length}`}
      />
      {found.length === 0 ? <Empty>No span has this in its name, its facts or its error.</Empty> : <Spans spans={found} />}
    </>
  );
}
