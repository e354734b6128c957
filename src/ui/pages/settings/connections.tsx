import { useSignal } from "@preact/signals";
import type { ProbeCheckJson } from "../../../../gen/svc/v1/check_pb.ts";
import { escapeControls } from "../../../domain/name.ts";
import { visibleLines } from "../../../domain/visible.ts";
import { CallError, call } from "../../api/call.ts";
import { useAnswer } from "../../api/load.ts";
import { useCommand } from "../../app/command.ts";
import { environmentScope, useMay } from "../../app/who.ts";
import { Badge } from "../../parts/badge.tsx";
import { Command } from "../../parts/command.tsx";
import { Dialog } from "../../parts/dialog.tsx";
import { Empty } from "../../parts/empty.tsx";
import { Failed } from "../../parts/failed.tsx";
import { Loading } from "../../parts/loading.tsx";
import { Skeleton } from "../../parts/skeleton.tsx";
import { Status, type Tone } from "../../parts/status.tsx";
import { Time } from "../../parts/time.tsx";
import { WindowTable } from "../../parts/window-table.tsx";

interface Connection {
  readonly id?: string;
  readonly name?: string;
  readonly kind: string;
  readonly isActive: boolean;
  readonly updatedAt: string | undefined;
}

/**
 * What data are kept in outside the platform: offline stores, buckets, and the accounts for them.
 */
export default function Connections() {
  const command = useCommand();
  const scope = environmentScope.value;
  const stores = useAnswer("OfflineStoreService/ListOfflineConnections", {}, scope);
  const buckets = useAnswer("StorageConfigService/ListStorageConfigs", {}, scope);
  const accounts = useAnswer("CloudAccountService/ListCloudAccounts", {}, scope);
  return (
    <>
      <h2>Offline stores</h2>
      <Loading of={stores}>
        {({ connections = [] }) => (
          <List
            label="Offline stores"
            rows={connections.map(({ active = false, type = "", updatedAt, ...row }) => ({
              ...row,
              kind: type,
              isActive: active,
              updatedAt,
            }))}
            makes="svc offline-store connection create"
            test={async (id) => (await call("OfflineStoreService/TestOfflineConnection", { id }, scope)).checks ?? []}
          />
        )}
      </Loading>
      <h2>Buckets</h2>
      <Command line={command("cloud", "storage", "configs", "list")} />
      <Loading of={buckets}>
        {({ configs = [] }) => (
          <List
            label="Buckets"
            rows={configs.map(({ kind = "", managed = false, updatedAt, ...row }) => ({ ...row, kind, isActive: managed, updatedAt }))}
            makes="svc cloud storage configs create storage.json"
            test={async (id) => (await call("StorageConfigService/TestStorageConfig", { id }, scope)).checks ?? []}
          />
        )}
      </Loading>
      <h2>Cloud accounts</h2>
      <Command line={command("cloud-account", "list")} />
      <Loading of={accounts}>
        {({ accounts: rows = [] }) => (
          <List
            label="Cloud accounts"
            rows={rows.map(({ kind = "", updatedAt, ...row }) => ({ ...row, kind, isActive: false, updatedAt }))}
            makes="svc cloud-account create"
            test={async (id) => (await call("CloudAccountService/TestCloudAccount", { id }, scope)).checks ?? []}
          />
        )}
      </Loading>
    </>
  );
}

interface ListParts {
  readonly label: string;
  readonly rows: readonly Connection[];
  /** The command that makes one. */
  readonly makes: string;
  readonly test: (id: string) => Promise<readonly ProbeCheckJson[]>;
}

function List({ label, rows, makes, test }: ListParts) {
  if (rows.length === 0) return <Empty command={makes}>There are none.</Empty>;
  return (
    <WindowTable
      label={label}
      rows={rows}
      keyOf={({ id = "" }) => id}
      columns={[
        {
          name: "name",
          title: "Name",
          width: "12rem",
          cell: ({ id = "", isActive, name = "" }) => (
            <>
              {escapeControls(name || id)} {isActive && <Badge text="in use" tone="good" />}
            </>
          ),
        },
        { name: "kind", title: "Kind", width: "9rem", cell: ({ kind }) => escapeControls(kind) },
        { name: "id", title: "Id", width: "18rem", cell: ({ id = "" }) => <code>{escapeControls(id)}</code> },
        { name: "updated", title: "Changed", width: "11rem", cell: ({ updatedAt }) => <Time at={updatedAt} /> },
        { name: "test", title: "Actions", width: "7rem", cell: ({ id = "", name = "" }) => <Test id={id} name={name || id} test={test} /> },
      ]}
    />
  );
}

const TONES: Readonly<Record<string, Tone>> = { OK: "good", FAILED: "bad", WARNING: "warn" };

function Test({ id, name, test }: { readonly id: string; readonly name: string; readonly test: ListParts["test"] }) {
  const isOpen = useSignal(false);
  const found = useSignal<readonly ProbeCheckJson[] | CallError | undefined>(undefined);
  if (!useMay("settings.write")) return null;
  const begin = async () => {
    isOpen.value = true;
    found.value = undefined;
    found.value = await test(id).catch((error: unknown) => (error instanceof CallError ? error : new CallError("unknown", String(error))));
  };
  const shown = found.value;
  return (
    <>
      <button type="button" aria-label={`Test ${escapeControls(name)}`} onClick={() => void begin()}>
        Test
      </button>
      {isOpen.value && (
        <Dialog title={`Test of ${escapeControls(name)}`} onClose={() => (isOpen.value = false)}>
          {shown === undefined ? (
            <Skeleton lines={3} />
          ) : shown instanceof CallError ? (
            <Failed error={shown} />
          ) : (
            <ul class="findings">
              {shown.map((check) => {
                const word = (check.status ?? "").replace("PROBE_STATUS_", "");
                return (
                  <li key={check.name}>
                    <Status tone={TONES[word] ?? "dim"}>{word.toLowerCase().replaceAll("_", " ")}</Status>{" "}
                    {escapeControls(check.name ?? "")}
                    <p class="dim">{visibleLines(check.message ?? "")}</p>
                  </li>
                );
              })}
            </ul>
          )}
        </Dialog>
      )}
    </>
  );
}
