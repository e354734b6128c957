import { useSignal } from "@preact/signals";
import { useEffect, useMemo, useRef } from "preact/hooks";
import type { QueryRequestJson, QueryResponseJson } from "../../../../gen/svc/v1/query_pb.ts";
import { rawName } from "../../../domain/name.ts";
import { type CallScope, call } from "../../api/call.ts";
import { useAnswer } from "../../api/load.ts";
import { useCommand } from "../../app/command.ts";
import { queried, scope } from "../../app/place.ts";
import { useMay } from "../../app/who.ts";
import { Empty } from "../../parts/empty.tsx";
import { Failed } from "../../parts/failed.tsx";
import { Loading } from "../../parts/loading.tsx";
import { Page } from "../../parts/page.tsx";
import type { PageProps } from "../../routes.ts";
import { featureType } from "../define/feature-text.ts";
import { BulkQuery } from "./bulk-query.tsx";
import { CompareWith } from "./compare-with.tsx";
import { AGAINST, type Against, otherScope, readAgainst } from "./comparison.ts";
import { ComparisonTable } from "./comparison-table.tsx";
import { completions, featureAt, firstKey, type Names, namesOf, rootOf } from "./name-completion.ts";
import { OutputField } from "./output-field.tsx";
import { PairRows } from "./pair-rows.tsx";
import { commandWords } from "./query-copies.ts";
import { CopyAs } from "./query-copy-as.tsx";
import { type QueryForm, requestOf } from "./query-form.ts";
import { QueryOptions } from "./query-options.tsx";
import { RunAnswer } from "./run-answer.tsx";
import { useForm } from "./use-form.ts";
import { summaryText, useQueryRun } from "./use-query-run.ts";
import { REPEATS, useRepeat } from "./use-repeat.ts";

/** Asks for features: inputs, outputs and options, the answer, and the same query for elsewhere. */
export default function Query({ place }: PageProps<"query">) {
  const command = useCommand();
  const features = useAnswer("GraphService/ListFeatures", {}, scope.value);
  const { deployment } = place.scope;
  const { form, change } = useForm(place.query);
  return (
    <Page title="Query" command={command(...commandWords(form, deployment))}>
      {features.error?.code === "failed_precondition" ? (
        <Empty command="svc apply">Nothing is deployed here yet. Deploy a project:</Empty>
      ) : (
        <Loading of={features} lines={6}>
          {({ features: all = [] }) => <Ask features={all} form={form} change={change} />}
        </Loading>
      )}
    </Page>
  );
}

interface AskParts {
  readonly features: Parameters<typeof namesOf>[0];
  readonly form: QueryForm;
  readonly change: (changes: Partial<QueryForm>) => void;
}

function Ask({ features, form, change }: AskParts) {
  const may = useMay("query.online");
  const names = useMemo(() => namesOf(features), [features]);
  const element = useRef<HTMLFormElement>(null);
  const run = useQueryRun();
  const other = useQueryRun();
  const against = readAgainst(queried("against"));
  const problems = useSignal<readonly string[]>([]);
  useFirstInput(names, form, change, element);
  const root = rootOf(names, form.inputs);
  const complete = (typed: string) => completions(names, typed, false);
  const typeOf = (name: string) => {
    const feature = featureAt(names, name, root);
    return feature ? featureType(feature) : name.trim() === "" || form.queryName !== "" ? "" : "unknown feature";
  };
  const submit = () => {
    const { request, problems: found } = requestOf(form);
    problems.value = found;
    if (found.length > 0 || !may) return;
    const own = scope.value;
    void run.start((signal) => call("QueryService/Query", request, own, signal));
    if (against) void other.start((signal) => otherAnswer(against, request, own, signal));
    else other.clear();
  };
  const repeat = useRepeat(submit, {
    isBegun: run.answer !== undefined || run.error !== undefined,
    isRunning: run.isRunning || other.isRunning,
  });
  return (
    <>
      <form
        ref={element}
        class="ask"
        aria-label="Query"
        onSubmit={(event) => {
          event.preventDefault();
          submit();
        }}
        onKeyDown={(event) => {
          if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
          event.preventDefault();
          submit();
        }}
      >
        <PairRows
          {...{ title: "Inputs", thing: "Input", pairs: form.inputs, complete, after: typeOf }}
          onChange={(inputs) => change({ inputs })}
          placeholder="value, JSON or text"
        />
        <OutputField
          outputs={form.outputs}
          onChange={(outputs) => change({ outputs })}
          complete={(typed) => completions(names, typed, true)}
          isUnknown={(name) => !isName(names, name, root)}
          whenEmpty={root === "" ? "feature or namespace" : `all of ${root}`}
        />
        <QueryOptions form={form} onChange={change} complete={complete} />
        <CompareWith against={against} />
        {problems.value.length > 0 && (
          <ul class="bad" role="alert">
            {problems.value.map((problem) => (
              <li key={problem}>{problem}</li>
            ))}
          </ul>
        )}
        <div class="actions">
          <button type="submit" class="primary" disabled={!may} aria-keyshortcuts="Control+Enter">
            Run
          </button>
          <span class="dim">{may ? "Ctrl Enter" : "Your credentials lack the permission query.online."}</span>
          {run.isRunning && (
            <button type="button" onClick={run.cancel}>
              Cancel
            </button>
          )}
          <label>
            Repeat{" "}
            <select value={repeat.value} onChange={(event) => (repeat.value = Number(event.currentTarget.value))}>
              {REPEATS.map((seconds) => (
                <option key={seconds} value={seconds}>
                  {seconds === 0 ? "never" : `every ${seconds} s`}
                </option>
              ))}
            </select>
          </label>
        </div>
      </form>
      <div role="status" class="unseen">
        {run.isRunning ? "Running" : run.answer && summaryText(run.answer)}
      </div>
      {run.error && <Failed error={run.error} onRetry={submit} />}
      {other.error && <Failed error={other.error} onRetry={submit} />}
      {run.answer && against && other.answer && (
        <ComparisonTable left={run.answer.data ?? []} right={other.answer.data ?? []} title={titleOf(against)} />
      )}
      {run.answer && <RunAnswer response={run.answer} isOld={run.isRunning} />}
      <BulkQuery form={form} may={may} isUnknown={(name) => !isName(names, name, rootOf(names, [[name, ""]]))} />
      <CopyAs form={form} isText={(name) => featureType(featureAt(names, name, root) ?? {}).startsWith("str")} scope={scope.value} />
    </>
  );
}

/** What the answer is compared with: that of another scope, or of a run that the log has. */
async function otherAnswer(against: Against, request: QueryRequestJson, own: CallScope, signal: AbortSignal): Promise<QueryResponseJson> {
  const elsewhere = otherScope(against, own);
  if (elsewhere) return call("QueryService/Query", request, elsewhere, signal);
  const { response } = await call("QueryRunService/GetQueryRun", { id: against.name }, { ...own, branch: "", deployment: "" }, signal);
  return response ?? {};
}

function titleOf({ kind, name }: Against): string {
  return name === "" && kind === "branch" ? "The environment" : `${AGAINST[kind].replace(/^An? (earlier )?/, "")} ${name}`;
}

/** Whether a name leads to a feature or a namespace. */
function isName(names: Names, name: string, root: string): boolean {
  return names.classes.has(rawName(name.replace(/^\./, ""))) || featureAt(names, name, root) !== undefined;
}

/** Begins an empty query with the key of the first class, and puts the focus on its value. */
function useFirstInput(
  names: Names,
  form: QueryForm,
  change: AskParts["change"],
  element: { readonly current: HTMLFormElement | null },
): void {
  const isEmpty = form.inputs.length === 0 && form.queryName === "";
  useEffect(() => {
    if (isEmpty) change({ inputs: [[firstKey(names), ""]] });
  }, []);
  useEffect(() => {
    if (isEmpty) requestAnimationFrame(() => element.current?.querySelector<HTMLElement>(".pair input:not([role])")?.focus());
  }, []);
}
