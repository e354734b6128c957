/** A run of a resolver once more, as a form that can be changed. */

import type { ResolverRunJson, TriggerResolverRequestJson } from "../../../../gen/svc/v1/resolver_run_pb.ts";
import { isInstant } from "./query-form.ts";

/** What can be otherwise in the next run; times are ISO 8601, empty = none. */
export interface AgainForm {
  readonly deploymentId: string;
  readonly lowerBound: string;
  readonly upperBound: string;
  readonly persistOnline: boolean;
  readonly persistOffline: boolean;
}

/** The form of a run as it was, but in the deployment that is live now. */
export function againForm({ lowerBound = "", persistOffline = false, persistOnline = false, upperBound = "" }: ResolverRunJson): AgainForm {
  return { deploymentId: "", lowerBound, upperBound, persistOnline, persistOffline };
}

/** The request of a form, or the text of it that is no time with its zone. */
export function againRequest(resolver: string, form: AgainForm): TriggerResolverRequestJson | { readonly noTime: string } {
  const { deploymentId, persistOffline, persistOnline } = form;
  const [lowerBound, upperBound] = [form.lowerBound.trim(), form.upperBound.trim()];
  const noTime = [lowerBound, upperBound].find((text) => text !== "" && !isInstant(text));
  if (noTime !== undefined) return { noTime };
  return {
    ...{ resolver, deploymentId: deploymentId.trim(), persistOnline, persistOffline },
    ...(lowerBound !== "" && { lowerBound: new Date(lowerBound).toISOString() }),
    ...(upperBound !== "" && { upperBound: new Date(upperBound).toISOString() }),
  };
}

/** The words of the command that does the same. */
export function againWords(resolver: string, form: AgainForm): readonly string[] {
  const given = (flag: string, text: string) => (text.trim() === "" ? [] : [flag, text.trim()]);
  return [
    ...["trigger", "--resolver", resolver],
    ...given("--deployment-id", form.deploymentId),
    ...given("--lower-bound", form.lowerBound),
    ...given("--upper-bound", form.upperBound),
    `--persist-online=${form.persistOnline}`,
    `--persist-offline=${form.persistOffline}`,
  ];
}
