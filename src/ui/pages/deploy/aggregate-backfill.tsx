import { useSignal } from "@preact/signals";
import type { AggregateSeriesJson, PlanAggregateBackfillResponseJson } from "../../../../gen/svc/v1/aggregate_pb.ts";
import { escapeControls } from "../../../domain/name.ts";
import { CallError, call } from "../../api/call.ts";
import { Action } from "../../app/action.tsx";
import { useCommand } from "../../app/command.ts";
import { go, href } from "../../app/place.ts";
import { environmentScope } from "../../app/who.ts";
import { Command } from "../../parts/command.tsx";
import { Facts } from "../../parts/facts.tsx";
import { Failed } from "../../parts/failed.tsx";
import { Time } from "../../parts/time.tsx";
import { type BackfillForm, backfillOf, backfillWords, featureOf, planText } from "./aggregate-text.ts";

const TEXTS = [
  ["lowerBound", "From", "as long ago as the windows reach"],
  ["upperBound", "Until", "now"],
  ["resolver", "Resolver of the rows", "the one that gives them to queries"],
] as const;

/** Fills the tiles of a series from rows, or says before what that would read and store. */
export function BackfillAggregate({ series }: { readonly series: AggregateSeriesJson }) {
  const command = useCommand();
  const feature = featureOf(series);
  const form = useSignal<BackfillForm>({ feature, lowerBound: "", upperBound: "", resolver: "", isStored: true, isExact: false });
  const change = (changes: Partial<BackfillForm>) => (form.value = { ...form.value, ...changes });
  const begin = async () => {
    const { jobId = "" } = await call("AggregateService/BackfillAggregates", { backfill: valid(form.value) }, environmentScope.value);
    go(href("run", { id: jobId }));
    return `Job ${jobId} fills the tiles of ${feature}.`;
  };
  return (
    <Action verb="Backfill" question={`Backfill ${escapeControls(feature)}?`} permission="deploy" act={begin}>
      <p>Whole buckets are made of the rows again, so that doing it twice changes nothing. Queries give the same values meanwhile.</p>
      {TEXTS.map(([name, title, placeholder]) => (
        <label key={name} class="field">
          <span>{title}</span>
          <input
            value={form.value[name]}
            placeholder={placeholder}
            autocomplete="off"
            spellcheck={false}
            onInput={({ currentTarget }) => change({ [name]: currentTarget.value })}
          />
        </label>
      ))}
      <div class="switches">
        <label>
          <input
            type="checkbox"
            checked={form.value.isStored}
            onChange={({ currentTarget }) => change({ isStored: currentTarget.checked })}
          />{" "}
          Store the tiles
        </label>
        <label>
          <input
            type="checkbox"
            checked={form.value.isExact}
            onChange={({ currentTarget }) => change({ isExact: currentTarget.checked })}
          />{" "}
          Count rows in the plan
        </label>
      </div>
      <Plan form={form.value} />
      <Command line={command(...backfillWords(form.value))} />
    </Action>
  );
}

/** A button that shows what the backfill would do, until the form is another. */
function Plan({ form }: { readonly form: BackfillForm }) {
  const command = useCommand();
  const answer = useSignal<{ readonly of: BackfillForm; readonly plans: PlanAggregateBackfillResponseJson | CallError } | undefined>(
    undefined,
  );
  const isBusy = useSignal(false);
  const ask = async () => {
    isBusy.value = true;
    const asked = async () =>
      call("AggregateService/PlanAggregateBackfill", { backfill: valid(form), exact: form.isExact }, environmentScope.value);
    const plans = await asked().catch((error: unknown) => (error instanceof CallError ? error : new CallError("unknown", String(error))));
    answer.value = { of: form, plans };
    isBusy.value = false;
  };
  const shown = answer.value?.of === form ? answer.value.plans : undefined;
  return (
    <>
      <p class="actions">
        <button type="button" disabled={isBusy.value} onClick={() => void ask()}>
          Show the plan
        </button>
      </p>
      <div role="status">
        {shown instanceof CallError && <Failed error={shown} />}
        {shown && !(shown instanceof CallError) && (
          <>
            {shown.plans?.map((plan) => (
              <Facts
                key={plan.series}
                facts={[
                  ["Series", plan.series],
                  ["Reads", `${plan.resolver === undefined ? "" : `${escapeControls(plan.resolver)}: `}${planText(plan)}`],
                  [
                    "Time",
                    <span key="">
                      {plan.from === undefined ? "the beginning" : <Time at={plan.from} />} to <Time at={plan.until} />
                    </span>,
                  ],
                ]}
              />
            ))}
            <Command line={command(...backfillWords(form, true))} />
          </>
        )}
      </div>
    </>
  );
}

/** The backfill of a form; throws CallError for a text that is no time. */
function valid(form: BackfillForm) {
  const backfill = backfillOf(form);
  if ("noTime" in backfill)
    throw new CallError("invalid_argument", `'${backfill.noTime}' is no time with its zone.`, "Write it as 2024-05-01T12:00:00Z.");
  return backfill;
}
