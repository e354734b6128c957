import type { BrowserSessionJson } from "../../../../gen/svc/v1/auth_pb.ts";
import { escapeControls } from "../../../domain/name.ts";
import { call } from "../../api/call.ts";
import { useAnswer } from "../../api/load.ts";
import { Action } from "../../app/action.tsx";
import { environmentScope } from "../../app/who.ts";
import { Badge } from "../../parts/badge.tsx";
import { Loading } from "../../parts/loading.tsx";
import { Time } from "../../parts/time.tsx";
import { type Column, WindowTable } from "../../parts/window-table.tsx";

/** Browsers that are logged in. */
export default function Sessions() {
  const answer = useAnswer("AuthService/ListSessions", {}, environmentScope.value);
  const columns: readonly Column<BrowserSessionJson>[] = [
    {
      name: "browser",
      title: "Browser",
      wraps: true,
      width: "14.5rem",
      cell: ({ current, readOnly, userAgent = "" }) => (
        <>
          {current && <Badge text="this one" tone="good" />}
          {readOnly && <Badge text="read only" />} {escapeControls(userAgent)}
        </>
      ),
    },
    {
      name: "client",
      title: "Client",
      wraps: true,
      width: "9.5rem",
      cell: ({ clientId = "", clientName = "" }) => <span title={clientId}>{escapeControls(clientName || clientId)}</span>,
    },
    { name: "created", title: "Began", width: "10rem", cell: ({ createdAt }) => <Time at={createdAt} /> },
    { name: "used", title: "Last used", width: "10rem", cell: ({ lastUsedAt }) => <Time at={lastUsedAt} /> },
    { name: "expires", title: "Ends unless used", width: "11.5rem", cell: ({ expiresAt }) => <Time at={expiresAt} /> },
    { name: "actions", title: "Actions", width: "7rem", cell: (row) => !row.current && <End session={row} onDone={answer.reload} /> },
  ];
  return (
    <Loading of={answer} lines={4}>
      {({ sessions = [] }) => <WindowTable label="Sessions" columns={columns} rows={sessions} keyOf={({ id = "" }) => id} />}
    </Loading>
  );
}

function End({ session: { clientName = "", id = "" }, onDone }: { readonly session: BrowserSessionJson; readonly onDone: () => void }) {
  const end = async () => {
    await call("AuthService/EndSession", { id }, environmentScope.value);
    return "The session ended.";
  };
  return <Action verb="End" question={`End the session of ${escapeControls(clientName)}?`} permission="read" act={end} onDone={onDone} />;
}
