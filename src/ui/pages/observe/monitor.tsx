import type { MonitorStandingJson } from "../../../../gen/svc/v1/monitor_pb.ts";
import { escapeControls } from "../../../domain/name.ts";
import { visibleLines } from "../../../domain/visible.ts";
import { useAnswer } from "../../api/load.ts";
import { useCommand } from "../../app/command.ts";
import { useLive } from "../../app/live.ts";
import { href } from "../../app/place.ts";
import { environmentScope } from "../../app/who.ts";
import { Badge } from "../../parts/badge.tsx";
import { Code } from "../../parts/code.tsx";
import { Empty } from "../../parts/empty.tsx";
import { Facts } from "../../parts/facts.tsx";
import { Loading } from "../../parts/loading.tsx";
import { Page } from "../../parts/page.tsx";
import { Status } from "../../parts/status.tsx";
import { Time } from "../../parts/time.tsx";
import type { PageProps } from "../../routes.ts";
import { MonitorDeliveries } from "./monitor-deliveries.tsx";
import { MonitorHistory } from "./monitor-history.tsx";
import { MonitorSilence } from "./monitor-silence.tsx";
import { MonitorTest } from "./monitor-test.tsx";
import { boundText, monitorCode, stateOf, valueText } from "./monitor-text.ts";

/** One monitor: how it stands, its values against the bound, and who was told. */
export default function Monitor({ place }: PageProps<"monitor">) {
  const command = useCommand();
  const { name } = place.params;
  const answer = useAnswer("MonitorService/ListMonitors", {}, environmentScope.value);
  useLive(["monitors"], () => answer.reload());
  const standing = answer.data?.monitors?.find(({ monitor }) => monitor?.name === name);
  return (
    <Page
      title={`Monitor ${name}`}
      command={command("monitors", "list")}
      actions={standing && <MonitorSilence standing={standing} onDone={answer.reload} />}
    >
      <Loading of={answer} lines={8}>
        {() =>
          standing ? (
            <Content standing={standing} />
          ) : (
            <Empty command={command("monitors", "list")}>The live deployment has no monitor of this name. It has:</Empty>
          )
        }
      </Loading>
    </Page>
  );
}

function Content({ standing }: { readonly standing: MonitorStandingJson }) {
  const { evaluatedAt, firedAt, labels, monitor = {}, silence, since, unit, value } = standing;
  const { description = "", expression = "", name = "", owner = "", severity = "", webhooks = [] } = monitor;
  const { tone, word } = stateOf(standing);
  return (
    <>
      <Facts
        facts={[
          [
            "State",
            <Status key="" tone={tone}>
              {word}
            </Status>,
          ],
          ["Since", since && <Time at={since} />],
          ["Value", escapeControls(valueText(value, unit, labels))],
          ["Fires", escapeControls(boundText(monitor))],
          ["Fired", firedAt && <Time at={firedAt} />],
          ["Evaluated", evaluatedAt && <Time at={evaluatedAt} />],
          [
            "Silenced until",
            silence && (
              <>
                <Time at={silence.until} /> by {escapeControls(silence.clientId ?? "")}
                {silence.reason ? `: ${escapeControls(silence.reason)}` : ""}
              </>
            ),
          ],
          ["Severity", severity],
          ["Owner", escapeControls(owner)],
          ["Tells", webhooks.length === 0 ? "all webhooks that subscribe" : webhooks.map((one) => <Badge key={one} text={one} />)],
          [
            "Watches",
            <a key="" class="name" href={href("metrics", {}, { query: new URLSearchParams({ e: expression }) })}>
              <code>{escapeControls(expression)}</code>
            </a>,
          ],
        ]}
      />
      {description !== "" && <p>{visibleLines(description)}</p>}
      <MonitorHistory standing={standing} />
      <MonitorTest standing={standing} />
      <MonitorDeliveries name={name} />
      <h2>As code</h2>
      <Code text={monitorCode(monitor)} language="python" />
    </>
  );
}
