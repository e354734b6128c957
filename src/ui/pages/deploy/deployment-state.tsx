import type { DeploymentJson } from "../../../../gen/svc/v1/deployment_pb.ts";
import { Status, type Tone } from "../../parts/status.tsx";

/** The state in a word, as `svc deployment list` says it. */
export function stateText({ live, status }: DeploymentJson): string {
  const name = (status ?? "").replace("DEPLOYMENT_STATUS_", "").toLowerCase();
  if (name === "waiting") return "waiting for approval";
  return live ? "live" : name === "live" || name === "inactive" ? "ready" : name;
}

/** Whether its state can still change by itself. */
export function isUnderWay({ status }: DeploymentJson): boolean {
  return status === "DEPLOYMENT_STATUS_QUEUED" || status === "DEPLOYMENT_STATUS_BUILDING" || status === "DEPLOYMENT_STATUS_STARTING";
}

/** Whether it was built and may have answered queries. */
export function isReady({ status }: DeploymentJson): boolean {
  return status === "DEPLOYMENT_STATUS_LIVE" || status === "DEPLOYMENT_STATUS_INACTIVE";
}

const TONES: Readonly<Record<string, Tone>> = {
  live: "good",
  failed: "bad",
  "waiting for approval": "warn",
  queued: "busy",
  building: "busy",
  starting: "busy",
};

/** A deployment's state. */
export function DeploymentState({ deployment }: { readonly deployment: DeploymentJson }) {
  const text = stateText(deployment);
  return <Status tone={TONES[text] ?? "dim"}>{text}</Status>;
}
