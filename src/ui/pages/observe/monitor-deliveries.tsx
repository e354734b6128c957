import type { WebhookDeliveryJson } from "../../../../gen/svc/v1/webhook_pb.ts";
import { escapeControls } from "../../../domain/name.ts";
import { usePages } from "../../api/pages.ts";
import { useCommand } from "../../app/command.ts";
import { href } from "../../app/place.ts";
import { environmentScope } from "../../app/who.ts";
import { Command } from "../../parts/command.tsx";
import { Paged } from "../../parts/paged.tsx";
import { Time } from "../../parts/time.tsx";
import { type Column, WindowTable } from "../../parts/window-table.tsx";
import { State } from "../run/state.tsx";

/** Deliveries of the environment that are looked through at a time. */
const LOOKED_THROUGH = 1_000;

const COLUMNS: readonly Column<WebhookDeliveryJson>[] = [
  { name: "time", title: "Event", width: "11rem", cell: ({ eventTime }) => <Time at={eventTime} /> },
  { name: "type", title: "Type", width: "10rem", cell: ({ subscription = "" }) => escapeControls(subscription) },
  {
    name: "webhook",
    title: "Webhook",
    width: "12rem",
    cell: ({ webhookId = "", webhookName = "" }) => escapeControls(webhookName || webhookId),
  },
  { name: "state", title: "State", width: "8rem", cell: ({ state }) => <State of={state} prefix="WEBHOOK_DELIVERY_STATE_" /> },
  {
    name: "error",
    title: "Error",
    width: "20rem",
    cell: ({ error = "" }) => <span title={escapeControls(error)}>{escapeControls(error)}</span>,
  },
];

/** What webhooks were told of a monitor, and whether they took it. */
export function MonitorDeliveries({ name }: { readonly name: string }) {
  const command = useCommand();
  const deliveries = usePages(
    "WebhookService/ListWebhookDeliveries",
    { pageSize: LOOKED_THROUGH },
    environmentScope.value,
    ({ deliveries: rows = [] }) => rows.filter(({ monitor }) => monitor === name),
    ({ id = "" }) => id,
  );
  return (
    <>
      <h2>Deliveries</h2>
      <Command line={command("webhook", "deliveries", "list")} />
      <Paged
        of={deliveries}
        things="deliveries of this monitor"
        empty={
          <p class="dim">
            No webhook was told of it. Those that subscribe to monitor.firing are, when it fires:{" "}
            <a href={href("setting", { section: "webhooks" })}>webhooks</a>.
          </p>
        }
      >
        {(rows) => <WindowTable label="Deliveries" columns={COLUMNS} rows={rows} keyOf={({ id = "" }) => id} />}
      </Paged>
    </>
  );
}
