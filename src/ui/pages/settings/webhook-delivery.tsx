import { escapeControls } from "../../../domain/name.ts";
import { useAnswer } from "../../api/load.ts";
import { useCommand } from "../../app/command.ts";
import { setQueried } from "../../app/place.ts";
import { environmentScope } from "../../app/who.ts";
import { Code } from "../../parts/code.tsx";
import { Command } from "../../parts/command.tsx";
import { Facts } from "../../parts/facts.tsx";
import { Loading } from "../../parts/loading.tsx";
import { Time } from "../../parts/time.tsx";
import { State } from "../run/state.tsx";
import { bodyText } from "./delivery-text.ts";

/** A delivery to a webhook: what was sent, and the beginning of what came back. */
export function WebhookDelivery({ id }: { readonly id: string }) {
  const command = useCommand();
  const answer = useAnswer("WebhookService/GetWebhookDelivery", { id }, environmentScope.value);
  return (
    <section aria-label="Delivery">
      <h2>Delivery</h2>
      <Command line={command("webhook", "deliveries", "get", id)} />
      <Loading of={answer} lines={6}>
        {({ answer: received, body = "", delivery = {} }) => (
          <>
            <Facts
              facts={[
                ["Event", escapeControls(delivery.subscription ?? "")],
                ["State", <State key="state" of={delivery.state} prefix="WEBHOOK_DELIVERY_STATE_" />],
                ["Attempts", `${delivery.attempts ?? 0} of ${delivery.maxAttempts ?? 0}`],
                ["Error", delivery.error !== undefined && <span class="bad">{escapeControls(delivery.error)}</span>],
                ["Answered", received && <Time at={received.answeredAt} />],
                [
                  "Status",
                  received && <span class={(received.statusCode ?? 0) >= 400 ? "bad" : undefined}>{received.statusCode ?? 0}</span>,
                ],
              ]}
            />
            <h3>Sent</h3>
            <Code text={bodyText(body)} file="body" />
            <h3>Received</h3>
            {received?.body ? (
              <>
                <Code text={bodyText(received.body)} file="answer" />
                {received.cut && <p class="dim">Only its beginning is kept.</p>}
              </>
            ) : (
              <p class="dim">{received ? "Nothing is kept of the answer but its status." : "No answer came."}</p>
            )}
          </>
        )}
      </Loading>
      <p>
        <button type="button" onClick={() => setQueried({ delivery: "" })}>
          Close
        </button>
      </p>
    </section>
  );
}
