import { useSignal } from "@preact/signals";
import type { TraceSpanJson } from "../../../../gen/svc/v1/query_pb.ts";
import { escapeControls } from "../../../domain/name.ts";
import { visibleLines } from "../../../domain/visible.ts";
import { Dialog } from "../../parts/dialog.tsx";
import { Duration } from "../../parts/duration.tsx";
import { Facts } from "../../parts/facts.tsx";
import { Waterfall } from "../../parts/waterfall.tsx";
import { type RunSpan, runSpans } from "./run-spans.ts";

/** Most spans that are drawn at once. */
const MOST_DRAWN = 2_000;

/** The spans of a query as a waterfall; one that is chosen shows its facts. */
export function Spans({ spans }: { readonly spans: readonly TraceSpanJson[] }) {
  const chosen = useSignal<RunSpan | undefined>(undefined);
  const all = runSpans(spans);
  return (
    <>
      <Waterfall
        label="Trace"
        spans={all.slice(0, MOST_DRAWN)}
        onChoose={({ id }) => {
          chosen.value = all.find((span) => span.id === id);
        }}
      />
      {all.length > MOST_DRAWN && <p class="dim">And {all.length - MOST_DRAWN} more, which svc query --trace prints.</p>}
      {chosen.value && (
        <Dialog title={escapeControls(chosen.value.name)} onClose={() => (chosen.value = undefined)}>
          <Facts
            facts={[
              ["Took", <Duration key="" ms={chosen.value.durationMs} />],
              ...chosen.value.facts.map(([name, text]) => [escapeControls(name), <code key="">{visibleLines(text)}</code>] as const),
            ]}
          />
        </Dialog>
      )}
    </>
  );
}
