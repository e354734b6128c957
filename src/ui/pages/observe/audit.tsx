import { useSignal } from "@preact/signals";
import type { AuditLogJson, VerifyAuditLogResponseJson } from "../../../../gen/svc/v1/audit_pb.ts";
import { escapeControls } from "../../../domain/name.ts";
import { CallError, call } from "../../api/call.ts";
import { usePages } from "../../api/pages.ts";
import { now } from "../../app/clock.ts";
import { useCommand } from "../../app/command.ts";
import { queried, setQueried } from "../../app/place.ts";
import { environmentScope } from "../../app/who.ts";
import { Empty } from "../../parts/empty.tsx";
import { Failed } from "../../parts/failed.tsx";
import { Page } from "../../parts/page.tsx";
import { Paged } from "../../parts/paged.tsx";
import { Range } from "../../parts/range.tsx";
import { rangeTimes } from "../../parts/range-times.ts";
import { Status } from "../../parts/status.tsx";
import { Time } from "../../parts/time.tsx";
import { rangeText, readRange } from "../../parts/time-range.ts";
import { type Column, WindowTable } from "../../parts/window-table.tsx";

/** Filters by their names in the address, which are those of the command's flags. */
const FILTERS = [
  { name: "client", title: "Client", placeholder: "id or name" },
  { name: "endpoint", title: "Endpoint", placeholder: "a part of its name" },
  { name: "code", title: "Answer", placeholder: "ok, permission_denied" },
  { name: "address", title: "Address", placeholder: "an address" },
] as const;

const COLUMNS: readonly Column<AuditLogJson>[] = [
  { name: "seq", title: "Row", width: "3.5rem", isNumber: true, cell: ({ seq = "0" }) => seq },
  { name: "time", title: "Time", width: "8rem", cell: ({ time }) => <Time at={time} /> },
  {
    name: "client",
    title: "Client",
    wraps: true,
    width: "7.5rem",
    cell: ({ clientId = "", clientName = "" }) => <span title={clientId}>{escapeControls(clientName || clientId)}</span>,
  },
  {
    name: "endpoint",
    title: "Endpoint",
    wraps: true,
    width: "16rem",
    cell: ({ endpoint = "" }) => <code>{escapeControls(endpoint.replace(/^svc\.v1\./, ""))}</code>,
  },
  {
    name: "code",
    title: "Answer",
    width: "8.5rem",
    cell: ({ code = "", count = 1 }) => (
      <Status tone={code === "ok" ? "good" : "bad"}>{`${code}${count > 1 ? `, ${count} times` : ""}`}</Status>
    ),
  },
  { name: "address", title: "Address", width: "7rem", cell: ({ address = "" }) => <code>{escapeControls(address)}</code> },
  {
    name: "about",
    title: "About",
    wraps: true,
    width: "13.5rem",
    cell: ({ about = {} }) =>
      Object.entries(about)
        .map(([name, value]) => escapeControls(`${name}=${value}`))
        .join(" "),
  },
];

/** Who called what: the rows of the audit log, newest first. */
export default function Audit() {
  const command = useCommand();
  const filters = Object.fromEntries(FILTERS.map(({ name }) => [name, queried(name)])) as Record<(typeof FILTERS)[number]["name"], string>;
  const range = readRange(queried("range"), now.value);
  const { endTime, startTime } = rangeTimes(range);
  const pages = usePages(
    "AuditService/ListAuditLogs",
    { ...filters, since: startTime, until: endTime, pageSize: 100 },
    environmentScope.value,
    ({ logs = [] }) => logs,
    ({ seq = "" }) => seq,
    JSON.stringify([filters, rangeText(range)]),
  );
  const flags = Object.entries(filters).flatMap(([name, value]) => (value === "" ? [] : [`--${name}`, value]));
  const times = range.lastMs === undefined ? ["--since", startTime, "--until", endTime] : ["--since", rangeText(range)];
  return (
    <Page title="Audit" command={command("audit", "list", ...flags, ...times)} actions={<Verify />}>
      <form class="filters" onSubmit={(event) => event.preventDefault()}>
        {FILTERS.map(({ name, placeholder, title }) => (
          <label key={name}>
            {title}
            <input
              value={filters[name]}
              placeholder={placeholder}
              onChange={({ currentTarget }) => setQueried({ [name]: currentTarget.value.trim() })}
            />
          </label>
        ))}
      </form>
      <Range />
      <Paged of={pages} things="rows" empty={<Empty>No call of this time fits.</Empty>}>
        {(rows) => <WindowTable label="Calls" columns={COLUMNS} rows={rows} keyOf={({ seq = "" }) => seq} />}
      </Paged>
    </Page>
  );
}

function Verify() {
  const found = useSignal<VerifyAuditLogResponseJson | CallError | undefined>(undefined);
  const verify = async () => {
    found.value = await call("AuditService/VerifyAuditLog", {}, environmentScope.value).catch((error: unknown) =>
      error instanceof CallError ? error : new CallError("unknown", String(error)),
    );
  };
  const shown = found.value;
  return (
    <>
      {shown instanceof CallError && <Failed error={shown} />}
      {shown !== undefined && !(shown instanceof CallError) && (
        <span role="status">
          {shown.brokenSeq && shown.brokenSeq !== "0" ? (
            <Status tone="bad">{`Row ${shown.brokenSeq} is not as it was written: ${shown.brokenReason}`}</Status>
          ) : (
            <Status tone="good">{`${shown.rows ?? "0"} rows are as they were written`}</Status>
          )}
        </span>
      )}
      <button type="button" onClick={() => void verify()}>
        Verify the chain
      </button>
    </>
  );
}
