import { useSignal } from "@preact/signals";
import type { ResolverRunJson } from "../../../../gen/svc/v1/resolver_run_pb.ts";
import { escapeControls } from "../../../domain/name.ts";
import { CallError, call } from "../../api/call.ts";
import { useCommand } from "../../app/command.ts";
import { go, href } from "../../app/place.ts";
import { toast } from "../../app/toasts.tsx";
import { environmentScope, useMay } from "../../app/who.ts";
import { Command } from "../../parts/command.tsx";
import { Confirm } from "../../parts/confirm.tsx";
import { type AgainForm, againForm, againRequest, againWords } from "./run-again.ts";

const TEXTS = [
  ["deploymentId", "Deployment, empty for the live one"],
  ["lowerBound", "Only inputs at or after"],
  ["upperBound", "Only inputs before"],
] as const;
const SWITCHES = [
  ["persistOnline", "Store online"],
  ["persistOffline", "Store offline"],
] as const;

/** Runs the resolver of a run again, as it was or with changes. */
export function RunAgain({ run }: { readonly run: ResolverRunJson }) {
  const form = useSignal<AgainForm | undefined>(undefined);
  const lineOf = useCommand();
  if (!useMay("deploy")) return null;
  const { resolver = "" } = run;
  const again = async () => {
    if (!form.value) return;
    const request = againRequest(resolver, form.value);
    if ("noTime" in request)
      throw new CallError("invalid_argument", `'${request.noTime}' is no time with its zone.`, "Write it as 2024-05-01T12:00:00Z.");
    const { run: next } = await call("ResolverRunService/TriggerResolver", request, environmentScope.value);
    toast(`${resolver} runs again.`);
    if (next?.id) go(href("run", { id: next.id }));
  };
  const change = (changes: Partial<AgainForm>) => {
    if (form.value) form.value = { ...form.value, ...changes };
  };
  return (
    <>
      <button type="button" aria-haspopup="dialog" onClick={() => (form.value = againForm(run))}>
        Run again
      </button>
      {form.value && (
        <Confirm title={`Run ${escapeControls(resolver)} again`} verb="Run" act={again} onClose={() => (form.value = undefined)}>
          <p>It computes its features for every row that it is for, and stores the values. Change what should be otherwise this time.</p>
          {TEXTS.map(([name, title]) => (
            <label key={name} class="field">
              <span>{title}</span>
              <input
                value={form.value?.[name]}
                placeholder={name === "deploymentId" ? "dpl_... or a tag" : "2024-05-01T12:00:00Z, or empty"}
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
          <Command line={lineOf(...againWords(resolver, form.value))} />
        </Confirm>
      )}
    </>
  );
}
