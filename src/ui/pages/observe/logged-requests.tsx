import type { LoggedRequestJson } from "../../../../gen/svc/v1/log_pb.ts";
import { escapeControls } from "../../../domain/name.ts";
import { usePages } from "../../api/pages.ts";
import { environmentScope } from "../../app/who.ts";
import { Bytes } from "../../parts/bytes.tsx";
import { Duration } from "../../parts/duration.tsx";
import { Empty } from "../../parts/empty.tsx";
import { Paged } from "../../parts/paged.tsx";
import { rangeTimes } from "../../parts/range-times.ts";
import { Status } from "../../parts/status.tsx";
import { Time } from "../../parts/time.tsx";
import { rangeText, type TimeRange } from "../../parts/time-range.ts";
import { type Column, WindowTable } from "../../parts/window-table.tsx";

const PAGE_SIZE = 200;

const COLUMNS: readonly Column<LoggedRequestJson>[] = [
  { name: "time", title: "Time", width: "11rem", cell: ({ time }) => <Time at={time} /> },
  { name: "path", title: "Path", width: "24rem", cell: ({ method = "", path = "" }) => <code>{escapeControls(`${method} ${path}`)}</code> },
  {
    name: "code",
    title: "Answer",
    width: "6rem",
    cell: ({ responseCode = 0 }) => <Status tone={toneOf(responseCode)}>{responseCode}</Status>,
  },
  {
    name: "duration",
    title: "Duration",
    width: "7rem",
    isNumber: true,
    cell: ({ duration = "0s" }) => <Duration ms={Number.parseFloat(duration) * 1000} />,
  },
  {
    name: "bytes",
    title: "Size",
    width: "6rem",
    isNumber: true,
    cell: ({ bytes = "0" }) => (bytes === "0" ? "" : <Bytes count={Number(bytes)} />),
  },
  { name: "client", title: "Client", width: "10rem", cell: ({ clientId = "" }) => <code>{escapeControls(clientId)}</code> },
];

/** Requests that the server answered, of all environments. */
export function LoggedRequests({ search, range }: { readonly search: string; readonly range: TimeRange }) {
  const pages = usePages(
    "LogService/SearchRequests",
    { search, ...rangeTimes(range), pageSize: PAGE_SIZE },
    environmentScope.value,
    ({ requests = [] }) => requests,
    keyOf,
    `${search} ${rangeText(range)}`,
  );
  return (
    <Paged of={pages} things="requests" empty={<Empty>No request of this time fits.</Empty>}>
      {(rows) => <WindowTable label="Requests" columns={COLUMNS} rows={rows} keyOf={keyOf} />}
    </Paged>
  );
}

const keyOf = (request: LoggedRequestJson): string => JSON.stringify(request);

function toneOf(code: number): "good" | "warn" | "bad" {
  return code >= 500 ? "bad" : code >= 400 ? "warn" : "good";
}
