import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { SecretJson } from "../../../../gen/svc/v1/secret_pb.ts";
import { escapeControls } from "../../../domain/name.ts";
import { visibleLines } from "../../../domain/visible.ts";
import { CallError, call } from "../../api/call.ts";
import { useAnswer } from "../../api/load.ts";
import { Action } from "../../app/action.tsx";
import { toast } from "../../app/toasts.tsx";
import { environmentScope, useMay } from "../../app/who.ts";
import { Confirm } from "../../parts/confirm.tsx";
import { Empty } from "../../parts/empty.tsx";
import { Loading } from "../../parts/loading.tsx";
import { Time } from "../../parts/time.tsx";
import { type Column, WindowTable } from "../../parts/window-table.tsx";

/** Milliseconds after which a value that was revealed is hidden again. */
const SHOWN_MS = 30_000;

/** The secrets of the environment: their names, and the value of one at a time. */
export default function Secrets() {
  const answer = useAnswer("SecretService/ListSecrets", {}, environmentScope.value);
  const columns: readonly Column<SecretJson>[] = [
    { name: "name", title: "Name", wraps: true, width: "12rem", cell: ({ name = "" }) => <code>{escapeControls(name)}</code> },
    { name: "value", title: "Value", width: "20rem", cell: (row) => <SecretValue key={row.updatedAt} secret={row} /> },
    { name: "integration", title: "Of", width: "9rem", cell: ({ integration = "" }) => escapeControls(integration) },
    { name: "updated", title: "Set", width: "11rem", cell: ({ updatedAt }) => <Time at={updatedAt} /> },
    {
      name: "actions",
      title: "Actions",
      width: "8rem",
      cell: ({ integration = "", name = "" }) => integration === "" && <Delete name={name} onDone={answer.reload} />,
    },
  ];
  return (
    <>
      <SetSecret onDone={answer.reload} />
      <Loading of={answer} lines={4}>
        {({ secrets = [] }) =>
          secrets.length === 0 ? (
            <Empty command="svc secret set API_KEY=VALUE">There are none yet. Resolvers are given them as environment variables:</Empty>
          ) : (
            <WindowTable label="Secrets" columns={columns} rows={secrets} keyOf={({ name = "" }) => name} />
          )
        }
      </Loading>
    </>
  );
}

function SecretValue({ secret: { name = "", problem = "", value = "" } }: { readonly secret: SecretJson }) {
  const revealed = useSignal<string | undefined>(undefined);
  const may = useMay("secrets.read");
  useEffect(() => {
    if (revealed.value === undefined) return;
    const timer = setTimeout(() => (revealed.value = undefined), SHOWN_MS);
    return () => clearTimeout(timer);
  }, [revealed.value]);
  if (problem !== "") return <span class="bad">{visibleLines(problem)}</span>;
  const reveal = async () => {
    try {
      const { secrets = [] } = await call("SecretService/RevealSecrets", { names: [name] }, environmentScope.value);
      revealed.value = secrets[0]?.value ?? "";
    } catch (error) {
      toast(error instanceof CallError ? error.message : String(error), "bad");
    }
  };
  return (
    <>
      {may && (
        <button
          type="button"
          class="quiet"
          aria-label={`${revealed.value === undefined ? "Reveal" : "Hide"} ${escapeControls(name)}`}
          onClick={() => {
            if (revealed.value === undefined) void reveal();
            else revealed.value = undefined;
          }}
        >
          {revealed.value === undefined ? "Reveal" : "Hide"}
        </button>
      )}
      <code class="secret">{escapeControls(revealed.value ?? value)}</code>
    </>
  );
}

function SetSecret({ onDone }: { readonly onDone: () => void }) {
  const isOpen = useSignal(false);
  const [name, value] = [useSignal(""), useSignal("")];
  if (!useMay("secrets.write")) return null;
  const set = async () => {
    const { approvalId = "" } = await call(
      "SecretService/SetSecrets",
      { secrets: [{ name: name.value, value: value.value }] },
      environmentScope.value,
    );
    toast(approvalId === "" ? `${name.value} is set.` : `Another person has to approve it: ${approvalId}.`);
    onDone();
  };
  const close = () => {
    isOpen.value = false;
    value.value = "";
  };
  return (
    <>
      <button type="button" onClick={() => (isOpen.value = true)}>
        Set a secret
      </button>
      {isOpen.value && (
        <Confirm title="Set a secret" verb="Set" act={set} onClose={close}>
          <label class="field">
            <span>Name of the environment variable</span>
            <input value={name} autocomplete="off" spellcheck={false} onInput={({ currentTarget }) => (name.value = currentTarget.value)} />
          </label>
          <label class="field">
            <span>Value</span>
            <input
              type="password"
              value={value}
              autocomplete="new-password"
              onInput={({ currentTarget }) => (value.value = currentTarget.value)}
            />
          </label>
          <p class="dim">A secret of this name is replaced. Workers are renewed with it.</p>
        </Confirm>
      )}
    </>
  );
}

function Delete({ name, onDone }: { readonly name: string; readonly onDone: () => void }) {
  const remove = async () => {
    const { approvalId = "" } = await call("SecretService/DeleteSecrets", { names: [name] }, environmentScope.value);
    return approvalId === "" ? `${name} is deleted.` : `Another person has to approve it: ${approvalId}.`;
  };
  return (
    <Action
      verb="Delete"
      question={`Delete ${escapeControls(name)}?`}
      permission="secrets.write"
      typed={name}
      words={["secret", "delete", name]}
      act={remove}
      onDone={onDone}
    />
  );
}
