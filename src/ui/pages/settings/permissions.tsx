import { useAnswer } from "../../api/load.ts";
import { environmentScope, useCaller } from "../../app/who.ts";
import { Badge } from "../../parts/badge.tsx";
import { Loading } from "../../parts/loading.tsx";
import { Status } from "../../parts/status.tsx";
import { WindowTable } from "../../parts/window-table.tsx";

/** All permissions with the roles that have them, and which of them the caller has. */
export default function Permissions() {
  const answer = useAnswer("ServiceTokenService/ListPermissions", {}, environmentScope.value);
  const own = useCaller().data?.permissions ?? [];
  const has = (name: string) => own.includes("admin") || own.includes(name);
  return (
    <Loading of={answer} lines={8}>
      {({ permissions = [], roles = [] }) => (
        <WindowTable
          label="Permissions"
          rows={permissions}
          keyOf={({ name = "" }) => name}
          columns={[
            { name: "name", title: "Permission", width: "10rem", cell: ({ name = "" }) => <code>{name}</code> },
            {
              name: "own",
              title: "You",
              width: "7rem",
              cell: ({ name = "" }) => <Status tone={has(name) ? "good" : "dim"}>{has(name) ? "have it" : "lack it"}</Status>,
            },
            {
              name: "roles",
              title: "Roles",
              width: "17rem",
              cell: ({ name = "" }) =>
                roles.filter((role) => role.permissions?.includes(name)).map((role) => <Badge key={role.name} text={role.name ?? ""} />),
            },
            {
              name: "description",
              title: "Allows",
              wraps: true,
              width: "24rem",
              cell: ({ description = "" }) => description,
            },
          ]}
        />
      )}
    </Loading>
  );
}
