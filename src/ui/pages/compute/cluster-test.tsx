import { useSignal } from "@preact/signals";
import type { ClusterCheckJson } from "../../../../gen/svc/v1/cluster_pb.ts";
import { escapeControls } from "../../../domain/name.ts";
import { CallError, call } from "../../api/call.ts";
import { useCommand } from "../../app/command.ts";
import { environmentScope } from "../../app/who.ts";
import { Command } from "../../parts/command.tsx";
import { Failed } from "../../parts/failed.tsx";
import { Status } from "../../parts/status.tsx";
import { type Column, WindowTable } from "../../parts/window-table.tsx";

const COLUMNS: readonly Column<ClusterCheckJson>[] = [
  { name: "name", title: "Tried", width: "20rem", cell: ({ name = "" }) => escapeControls(name) },
  {
    name: "ok",
    title: "Result",
    width: "8rem",
    cell: ({ ok = false }) => <Status tone={ok ? "good" : "bad"}>{ok ? "ok" : "failed"}</Status>,
  },
  { name: "problem", title: "Why", wraps: true, width: "36rem", cell: ({ problem = "" }) => escapeControls(problem) },
];

/** Tries what a cluster has to be able to do, when asked. */
export function ClusterTest({ id }: { readonly id: string }) {
  const command = useCommand();
  const checks = useSignal<readonly ClusterCheckJson[]>([]);
  const error = useSignal<CallError | undefined>(undefined);
  const isBusy = useSignal(false);
  const test = async () => {
    isBusy.value = true;
    error.value = undefined;
    try {
      checks.value = (await call("ClusterService/TestCluster", { id }, environmentScope.value)).checks ?? [];
    } catch (thrown) {
      error.value = thrown instanceof CallError ? thrown : new CallError("unknown", String(thrown));
    } finally {
      isBusy.value = false;
    }
  };
  return (
    <>
      <h2>Test</h2>
      <Command line={command("clusters", "test", id)} />
      <p class="actions">
        <button type="button" disabled={isBusy.value} onClick={() => void test()}>
          {checks.value.length > 0 ? "Test again" : "Test"}
        </button>
        <span role="status">{isBusy.value ? "Everything that the platform needs there is tried." : sumText(checks.value)}</span>
      </p>
      {error.value && <Failed error={error.value} />}
      {checks.value.length > 0 && <WindowTable label="Checks" columns={COLUMNS} rows={checks.value} keyOf={({ name = "" }) => name} />}
    </>
  );
}

function sumText(checks: readonly ClusterCheckJson[]): string {
  const failed = checks.filter(({ ok = false }) => !ok).length;
  if (checks.length === 0) return "";
  return failed === 0 ? `All ${checks.length} work.` : `${failed} of ${checks.length} failed.`;
}
