import type { WebhookDeliveryJson, WebhookJson } from "../../../../gen/svc/v1/webhook_pb.ts";
import { escapeControls } from "../../../domain/name.ts";
import { call } from "../../api/call.ts";
import { useAnswer } from "../../api/load.ts";
import { usePages } from "../../api/pages.ts";
import { Action } from "../../app/action.tsx";
import { useCommand } from "../../app/command.ts";
import { queried, setQueried } from "../../app/place.ts";
import { environmentScope, useMay } from "../../app/who.ts";
import { Badge } from "../../parts/badge.tsx";
import { Command } from "../../parts/command.tsx";
import { Empty } from "../../parts/empty.tsx";
import { Loading } from "../../parts/loading.tsx";
import { Paged } from "../../parts/paged.tsx";
import { Time } from "../../parts/time.tsx";
import { type Column, WindowTable } from "../../parts/window-table.tsx";
import { State } from "../run/state.tsx";
import { WebhookDelivery } from "./webhook-delivery.tsx";

/** Addresses that are told of events, and the deliveries to them. */
export default function Webhooks() {
  const command = useCommand();
  const shown = queried("delivery");
  const mayShow = useMay("settings.write");
  const answer = useAnswer("WebhookService/ListWebhooks", {}, environmentScope.value);
  const deliveries = usePages(
    "WebhookService/ListWebhookDeliveries",
    { pageSize: 50 },
    environmentScope.value,
    ({ deliveries: rows = [] }) => rows,
    ({ id = "" }) => id,
  );
  const webhooks: readonly Column<WebhookJson>[] = [
    { name: "name", title: "Webhook", wraps: true, width: "12rem", cell: ({ name = "" }) => escapeControls(name) },
    { name: "url", title: "Address", wraps: true, width: "18rem", cell: ({ url = "" }) => <code>{escapeControls(url)}</code> },
    {
      name: "events",
      title: "Events",
      wraps: true,
      width: "14rem",
      cell: ({ subscriptions = [] }) => subscriptions.map((event) => <Badge key={event} text={event} />),
    },
    { name: "signed", title: "Signed", width: "5rem", cell: ({ signed }) => (signed ? "yes" : "no") },
    {
      name: "actions",
      title: "Actions",
      width: "11rem",
      cell: (row) => (
        <span class="actions">
          <Test webhook={row} onDone={deliveries.first.reload} />
          <Delete webhook={row} onDone={answer.reload} />
        </span>
      ),
    },
  ];
  const made: readonly Column<WebhookDeliveryJson>[] = [
    { name: "time", title: "Event", width: "9.5rem", cell: ({ eventTime }) => <Time at={eventTime} /> },
    { name: "subscription", title: "Type", width: "9rem", cell: ({ subscription = "" }) => escapeControls(subscription) },
    {
      name: "webhook",
      title: "Webhook",
      wraps: true,
      width: "10rem",
      cell: ({ webhookId = "", webhookName = "" }) => escapeControls(webhookName || webhookId),
    },
    { name: "state", title: "State", width: "7.5rem", cell: ({ state }) => <State of={state} prefix="WEBHOOK_DELIVERY_STATE_" /> },
    {
      name: "attempts",
      title: "Attempts",
      width: "6rem",
      isNumber: true,
      cell: ({ attempts = 0, maxAttempts = 0 }) => `${attempts} of ${maxAttempts}`,
    },
    {
      name: "error",
      title: "Error",
      wraps: true,
      width: "10rem",
      cell: ({ error = "" }) => escapeControls(error),
    },
    {
      name: "actions",
      title: "Actions",
      width: "11rem",
      cell: (row) => (
        <span class="actions">
          {mayShow && (
            <button type="button" onClick={() => setQueried({ delivery: row.id ?? "" })}>
              Show
            </button>
          )}
          <Redeliver delivery={row} onDone={deliveries.first.reload} />
        </span>
      ),
    },
  ];
  return (
    <>
      <Loading of={answer} lines={4}>
        {({ webhooks: rows = [] }) =>
          rows.length === 0 ? (
            <Empty command="svc webhook create --name ops --url https://example.com/events --subscriptions query.run">
              There are none yet.
            </Empty>
          ) : (
            <WindowTable label="Webhooks" columns={webhooks} rows={rows} keyOf={({ id = "" }) => id} />
          )
        }
      </Loading>
      {shown !== "" && mayShow && <WebhookDelivery id={shown} />}
      <h2>Deliveries</h2>
      <Command line={command("webhook", "deliveries", "list")} />
      <Paged of={deliveries} things="deliveries" empty={<p class="dim">Nothing was delivered yet.</p>}>
        {(rows, { dropped = "0" }) => (
          <>
            {dropped !== "0" && <p class="warn">{`The server has dropped ${dropped} events since it started: too many waited.`}</p>}
            <WindowTable label="Deliveries" columns={made} rows={rows} keyOf={({ id = "" }) => id} />
          </>
        )}
      </Paged>
    </>
  );
}

function Test({ webhook: { id = "", name = "", url = "" }, onDone }: { readonly webhook: WebhookJson; readonly onDone: () => void }) {
  const test = async () => {
    const { delivered, error = "", statusCode = 0 } = await call("WebhookService/TestWebhook", { webhook: id }, environmentScope.value);
    return delivered ? `${name} answered ${statusCode}.` : `${name} did not take it: ${error || statusCode}`;
  };
  return (
    <Action
      verb="Test"
      question={`Test ${escapeControls(name)}?`}
      permission="settings.write"
      words={["webhook", "test", name]}
      act={test}
      onDone={onDone}
    >
      <p>
        An event <code>webhook.test</code> is delivered to <code>{escapeControls(url)}</code>, once.
      </p>
    </Action>
  );
}

function Delete({ webhook: { id = "", name = "" }, onDone }: { readonly webhook: WebhookJson; readonly onDone: () => void }) {
  const remove = async () => {
    await call("WebhookService/DeleteWebhook", { webhook: id }, environmentScope.value);
    return `${name} is deleted.`;
  };
  return (
    <Action
      verb="Delete"
      question={`Delete ${escapeControls(name)}?`}
      permission="settings.write"
      typed={name}
      words={["webhook", "delete", "--id", name]}
      act={remove}
      onDone={onDone}
    >
      <p>Deliveries that wait for it are not made.</p>
    </Action>
  );
}

function Redeliver({ delivery: { id = "", state }, onDone }: { readonly delivery: WebhookDeliveryJson; readonly onDone: () => void }) {
  if (state !== "WEBHOOK_DELIVERY_STATE_DELIVERED" && state !== "WEBHOOK_DELIVERY_STATE_DEAD") return null;
  const again = async () => {
    await call("WebhookService/RedeliverWebhookDelivery", { id }, environmentScope.value);
    return `${id} is delivered once more.`;
  };
  return (
    <Action
      verb="Redeliver"
      question={`Redeliver ${id}?`}
      permission="settings.write"
      words={["webhook", "deliveries", "redeliver", id]}
      act={again}
      onDone={onDone}
    >
      <p>The same body is sent with the same idempotency key.</p>
    </Action>
  );
}
