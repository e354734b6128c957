import type { ClusterEventJson } from "../../../../gen/svc/v1/cluster_pb.ts";
import { escapeControls } from "../../../domain/name.ts";
import { useAnswer } from "../../api/load.ts";
import { useCommand } from "../../app/command.ts";
import { useLive } from "../../app/live.ts";
import { environmentScope } from "../../app/who.ts";
import { Command } from "../../parts/command.tsx";
import { Loading } from "../../parts/loading.tsx";
import { Status } from "../../parts/status.tsx";
import { Time } from "../../parts/time.tsx";
import { type Column, WindowTable } from "../../parts/window-table.tsx";

const LIMIT = 100;
/** Most names that a call takes. */
const MOST_NAMES = 100;

const OBJECT: Column<ClusterEventJson> = {
  name: "object",
  title: "Of",
  wraps: true,
  width: "17rem",
  cell: ({ object = "" }) => <span class="name">{escapeControls(object.replace(/^pod\//, ""))}</span>,
};
const COLUMNS: readonly Column<ClusterEventJson>[] = [
  { name: "time", title: "When", width: "9rem", cell: ({ lastSeen }) => <Time at={lastSeen} /> },
  {
    name: "reason",
    title: "What",
    width: "8rem",
    cell: ({ reason = "", type }) => <Status tone={type === "Warning" ? "bad" : "dim"}>{reason.toLowerCase()}</Status>,
  },
  { name: "message", title: "Message", wraps: true, width: "30rem", cell: ({ message = "" }) => escapeControls(message) },
];

interface EventsParts {
  /** Names of processes, containers and groups. */
  readonly names: readonly string[];
  /** Those before it are another's of the name; undefined = all are shown. */
  readonly since?: string | undefined;
}

/** What happened to processes, newest first. */
export function ProcessEvents({ names, since }: EventsParts) {
  const command = useCommand();
  const { environment } = environmentScope.value;
  const pods = names.slice(0, MOST_NAMES);
  const answer = useAnswer(
    "ClusterService/ListEvents",
    { pods, namespaces: [environment], limit: LIMIT, ...(since !== undefined && { startTime: since }) },
    environmentScope.value,
  );
  useLive(["runs"], answer.reload);
  return (
    <>
      <h2>Events</h2>
      <Command line={command("kube", "events", "list", ...pods.flatMap((name) => ["--pod", name]))} />
      <Loading of={answer}>
        {({ events = [] }) =>
          events.length === 0 ? (
            <p class="dim">Nothing has happened yet.</p>
          ) : (
            <WindowTable
              label="Events"
              columns={names.length > 1 ? [...COLUMNS.slice(0, 2), OBJECT, ...COLUMNS.slice(2)] : COLUMNS}
              rows={events}
              keyOf={({ lastSeen = "", message = "", object = "", reason = "" }) => [lastSeen, object, reason, message].join(" ")}
            />
          )
        }
      </Loading>
    </>
  );
}
