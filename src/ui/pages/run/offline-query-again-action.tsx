import { useSignal } from "@preact/signals";
import type { OfflineQueryOptionsJson } from "../../../../gen/svc/v1/offline_query_pb.ts";
import { CallError, call } from "../../api/call.ts";
import { useCommand } from "../../app/command.ts";
import { go, href } from "../../app/place.ts";
import { toast } from "../../app/toasts.tsx";
import { environmentScope, useMay } from "../../app/who.ts";
import { Command } from "../../parts/command.tsx";
import { Confirm } from "../../parts/confirm.tsx";
import { type QueryAgainForm, queryAgainForm, queryAgainRequest, queryAgainWords } from "./offline-query-again.ts";

interface TextRow {
  readonly name: keyof QueryAgainForm;
  readonly title: string;
  readonly placeholder?: string;
}

const TEXTS: readonly TextRow[] = [
  { name: "outputs", title: "Outputs, separated by commas" },
  { name: "recompute", title: "Computed by resolvers", placeholder: "all, none, or features" },
  { name: "datasetName", title: "Dataset, empty for one without a name" },
  { name: "numShards", title: "Parts side by side", placeholder: "1" },
  { name: "deploymentId", title: "Deployment, empty for the live one", placeholder: "dpl_... or a tag" },
  { name: "sampleFraction", title: "Part of the rows that is kept, empty for all", placeholder: "0.1" },
  { name: "testFraction", title: "Part of the rows for tests, empty for none", placeholder: "0.2" },
];
const KEY_TEXTS: readonly TextRow[] = [
  { name: "lowerBound", title: "Only keys observed at or after", placeholder: "2024-05-01T12:00:00Z" },
  { name: "upperBound", title: "Only keys observed before", placeholder: "2024-05-01T12:00:00Z" },
  { name: "maxSamples", title: "Rows at most, empty for all" },
];
const SWITCHES = [
  ["asKnown", "Only values that were stored by the row's time"],
  ["storeOnline", "Store online"],
  ["storeOffline", "Store offline"],
] as const;

/** Begins the request of a query again, as it was or with changes. */
export function QueryAgain({ id, options }: { readonly id: string; readonly options: OfflineQueryOptionsJson }) {
  const form = useSignal<QueryAgainForm | undefined>(undefined);
  const lineOf = useCommand();
  if (!useMay("query.offline")) return null;
  const again = async () => {
    if (!form.value) return;
    const request = queryAgainRequest(id, options, form.value);
    if ("wrong" in request) throw new CallError("invalid_argument", request.wrong, "Change it, and begin the query then.");
    const { query } = await call("OfflineQueryService/RetryOfflineQuery", request, environmentScope.value);
    toast(`It was begun again as ${query?.id ?? ""}.`);
    if (query?.id) go(href("run", { id: query.id }));
  };
  const change = (changes: Partial<QueryAgainForm>) => {
    if (form.value) form.value = { ...form.value, ...changes };
  };
  return (
    <>
      <button type="button" aria-haspopup="dialog" onClick={() => (form.value = queryAgainForm(options))}>
        Begin again
      </button>
      {form.value && (
        <Confirm title={`Begin ${id} again`} verb="Begin" act={again} onClose={() => (form.value = undefined)}>
          <p>The same rows become a query of their own. Times that were not given are those of now. Change what should be otherwise.</p>
          {[...TEXTS, ...(options.keys ? KEY_TEXTS : [])].map(({ name, title, placeholder }) => (
            <label key={name} class="field">
              <span>{title}</span>
              <input
                value={String(form.value?.[name])}
                {...(placeholder !== undefined && { placeholder })}
                autocomplete="off"
                spellcheck={false}
                onInput={({ currentTarget }) => change({ [name]: currentTarget.value })}
              />
            </label>
          ))}
          <div class="switches">
            {SWITCHES.map(([name, title]) => (
              <label key={name}>
                <input
                  type="checkbox"
                  checked={form.value?.[name]}
                  onChange={({ currentTarget }) => change({ [name]: currentTarget.checked })}
                />{" "}
                {title}
              </label>
            ))}
          </div>
          <Command line={lineOf(...queryAgainWords(id, options, form.value))} />
        </Confirm>
      )}
    </>
  );
}
