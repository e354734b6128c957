import { useSignal } from "@preact/signals";
import type { CreateServiceTokenResponseJson, ServiceTokenJson } from "../../../../gen/svc/v1/service_token_pb.ts";
import { escapeControls } from "../../../domain/name.ts";
import { ROLES } from "../../../domain/permissions.ts";
import { call } from "../../api/call.ts";
import { useAnswer } from "../../api/load.ts";
import { Action } from "../../app/action.tsx";
import { environmentScope, useMay } from "../../app/who.ts";
import { Confirm } from "../../parts/confirm.tsx";
import { Copy } from "../../parts/copy.tsx";
import { Dialog } from "../../parts/dialog.tsx";
import { Empty } from "../../parts/empty.tsx";
import { Facts } from "../../parts/facts.tsx";
import { Loading } from "../../parts/loading.tsx";
import { Time } from "../../parts/time.tsx";
import { type Column, WindowTable } from "../../parts/window-table.tsx";

/** Credentials of programs. */
export default function ServiceTokens() {
  const answer = useAnswer("ServiceTokenService/ListServiceTokens", {}, environmentScope.value);
  const columns: readonly Column<ServiceTokenJson>[] = [
    { name: "name", title: "Name", wraps: true, width: "11.5rem", cell: ({ name = "" }) => escapeControls(name) },
    { name: "client", title: "Client", wraps: true, width: "9rem", cell: ({ clientId = "" }) => <code>{clientId}</code> },
    {
      name: "permissions",
      title: "Permissions",
      wraps: true,
      width: "10rem",
      cell: ({ permissions = [] }) => <span title={permissions.join(", ")}>{permissions.join(", ")}</span>,
    },
    {
      name: "environments",
      title: "Limited to",
      wraps: true,
      width: "8rem",
      cell: ({ environmentIds = [] }) => (environmentIds.length === 0 ? "nothing" : `${environmentIds.length} environments`),
    },
    { name: "used", title: "Last used", width: "9rem", cell: ({ lastUsedAt }) => <Time at={lastUsedAt} /> },
    { name: "expires", title: "Ends", width: "9rem", cell: ({ expiresAt }) => <Time at={expiresAt} /> },
    { name: "actions", title: "Actions", width: "7rem", cell: (row) => <Delete token={row} onDone={answer.reload} /> },
  ];
  return (
    <>
      <Create onDone={answer.reload} />
      <Loading of={answer} lines={4}>
        {({ serviceTokens = [] }) =>
          serviceTokens.length === 0 ? (
            <Empty command="svc service-token create --name ci --role developer">There are none yet.</Empty>
          ) : (
            <WindowTable label="Service tokens" columns={columns} rows={serviceTokens} keyOf={({ id = "" }) => id} />
          )
        }
      </Loading>
    </>
  );
}

function Create({ onDone }: { readonly onDone: () => void }) {
  const isAsking = useSignal(false);
  const made = useSignal<CreateServiceTokenResponseJson | undefined>(undefined);
  const [name, role] = [useSignal(""), useSignal<string>("viewer")];
  if (!useMay("tokens.write")) return null;
  const create = async () => {
    made.value = await call("ServiceTokenService/CreateServiceToken", { name: name.value, role: role.value }, environmentScope.value);
    name.value = "";
    onDone();
  };
  return (
    <>
      <button type="button" onClick={() => (isAsking.value = true)}>
        Make a service token
      </button>
      {isAsking.value && (
        <Confirm title="Make a service token" verb="Make" act={create} onClose={() => (isAsking.value = false)}>
          <label class="field">
            <span>Name</span>
            <input value={name} autocomplete="off" onInput={({ currentTarget }) => (name.value = currentTarget.value)} />
          </label>
          <label class="field">
            <span>Role</span>
            <select value={role} onChange={({ currentTarget }) => (role.value = currentTarget.value)}>
              {ROLES.map((one) => (
                <option key={one.name} value={one.name}>{`${one.name}: ${one.meaning}`}</option>
              ))}
            </select>
          </label>
        </Confirm>
      )}
      {made.value && <Made answer={made.value} onClose={() => (made.value = undefined)} />}
    </>
  );
}

/** The secret, which no answer ever has again. */
function Made({
  answer: { clientSecret = "", serviceToken = {} },
  onClose,
}: {
  readonly answer: CreateServiceTokenResponseJson;
  readonly onClose: () => void;
}) {
  return (
    <Dialog title={`Service token ${escapeControls(serviceToken.name ?? "")}`} onClose={onClose}>
      <p>The secret is shown this once. Keep it where the program finds it.</p>
      <Facts
        facts={[
          ["Client id", <code key="">{serviceToken.clientId}</code>],
          [
            "Client secret",
            <>
              <code>{clientSecret}</code> <Copy text={clientSecret} what="the secret" />
            </>,
          ],
        ]}
      />
    </Dialog>
  );
}

function Delete({ token: { id = "", name = "" }, onDone }: { readonly token: ServiceTokenJson; readonly onDone: () => void }) {
  const remove = async () => {
    await call("ServiceTokenService/DeleteServiceToken", { id }, environmentScope.value);
    return `${name} is deleted.`;
  };
  return (
    <Action verb="Delete" question={`Delete ${escapeControls(name)}?`} permission="tokens.write" typed={name} act={remove} onDone={onDone}>
      <p>Programs with its secret are refused from the next request on.</p>
    </Action>
  );
}
