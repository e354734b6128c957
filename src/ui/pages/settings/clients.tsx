import type { ApiClientJson } from "../../../../gen/svc/v1/auth_pb.ts";
import type { RoleJson } from "../../../../gen/svc/v1/service_token_pb.ts";
import { escapeControls } from "../../../domain/name.ts";
import { call } from "../../api/call.ts";
import { useAnswer } from "../../api/load.ts";
import { Action } from "../../app/action.tsx";
import { environmentScope } from "../../app/who.ts";
import { Badge } from "../../parts/badge.tsx";
import { Loading } from "../../parts/loading.tsx";
import { Time } from "../../parts/time.tsx";
import { type Column, WindowTable } from "../../parts/window-table.tsx";

/** Who can call: persons, command lines and programs, each with the role that it has. */
export default function Clients() {
  const answer = useAnswer("AuthService/ListClients", {}, environmentScope.value);
  const roles = useAnswer("ServiceTokenService/ListPermissions", {}, environmentScope.value).data?.roles ?? [];
  const columns: readonly Column<ApiClientJson>[] = [
    {
      name: "name",
      title: "Name",
      wraps: true,
      width: "11.5rem",
      cell: ({ current, isPerson, name = "" }) => (
        <>
          {escapeControls(name)} {isPerson && <Badge text="person" />}
          {current && <Badge text="this one" tone="good" />}
        </>
      ),
    },
    { name: "role", title: "Role", width: "6.5rem", cell: ({ permissions = [] }) => roleOf(permissions, roles) },
    { name: "id", title: "Client", wraps: true, width: "9rem", cell: ({ id = "" }) => <code>{id}</code> },
    {
      name: "permissions",
      title: "Permissions",
      wraps: true,
      width: "10.5rem",
      cell: ({ permissions = [] }) => <span title={permissions.join(", ")}>{permissions.join(", ")}</span>,
    },
    { name: "used", title: "Last used", width: "9.5rem", cell: ({ lastUsedAt }) => <Time at={lastUsedAt} /> },
    { name: "expires", title: "Ends", width: "9.5rem", cell: ({ expiresAt }) => <Time at={expiresAt} /> },
    { name: "actions", title: "Actions", width: "7rem", cell: (row) => <Revoke client={row} onDone={answer.reload} /> },
  ];
  return (
    <Loading of={answer} lines={4}>
      {({ clients = [] }) => <WindowTable label="Clients" columns={columns} rows={clients} keyOf={({ id = "" }) => id} />}
    </Loading>
  );
}

/** The name of the role that has exactly these permissions; empty when there is none. */
function roleOf(permissions: readonly string[], roles: readonly RoleJson[]): string {
  const same = (own: readonly string[]) => own.length === permissions.length && own.every((name) => permissions.includes(name));
  return roles.find((role) => same(role.permissions ?? []))?.name ?? "";
}

function Revoke({ client: { current, id = "", name = "" }, onDone }: { readonly client: ApiClientJson; readonly onDone: () => void }) {
  const revoke = async () => {
    const { endedSessions = 0 } = await call("AuthService/DeleteClient", { id }, environmentScope.value);
    return `${name} is revoked, and ${endedSessions} browser sessions ended.`;
  };
  return (
    <Action verb="Revoke" question={`Revoke ${escapeControls(name)}?`} permission="admin" typed={name} act={revoke} onDone={onDone}>
      <p>Its secret, tokens and browser sessions are refused from the next request on.{current && " This page is one of them."}</p>
    </Action>
  );
}
