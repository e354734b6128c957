/** What suspending and resuming did. */

import type { ResumeComponentResponse, SuspendComponentResponse } from "../../../gen/svc/v1/infra_pb.ts";
import { textView } from "../../output/view.ts";

/** One line that names the component, and its record's id. */
export function stateView(component: string, state: "suspended" | "running") {
  const done = state === "suspended" ? "Suspended" : "Resumed";
  return textView(
    ({ changed, id }: SuspendComponentResponse | ResumeComponentResponse) =>
      changed ? `${done} ${component} (${id})` : `The component ${component} is ${state} already (${id})`,
    ({ changed, id }) => ({ id, component, state, changed }),
  );
}
