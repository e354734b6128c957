/** The capabilities of secrets and integrations, which share their sealer. */

import type { Variables } from "../../domain/integrations.ts";
import { type Resealing, resealNow } from "../access/resealing.ts";
import type { Sealer } from "../access/sealing.ts";
import type { CollectionParts } from "../documents/collection.ts";
import { newId } from "../identifier.ts";
import type { JobStore } from "../stores/metadata/jobs.ts";
import { createIntegrations, type Integrations } from "./integrations.ts";
import { createSecrets, type Secrets } from "./secrets.ts";

/** Secrets and integrations. */
export interface SecretCapabilities extends Resealing {
  readonly secrets: Secrets;
  readonly integrations: Integrations;
  /** Enqueues a job that seals anew when there is something to do for it. */
  beginResealing(): Promise<void>;
  close(): Promise<void>;
}

/** Makes the capabilities. */
export function createSecretCapabilities(
  parts: CollectionParts & {
    readonly sealer: Sealer;
    readonly jobs: Pick<JobStore, "enqueue">;
    /** Variables of workers by an environment's configuration, which are no secrets. */
    readonly plain: (environmentId: string) => Promise<Variables>;
  },
): SecretCapabilities {
  const { bus, clock, jobs, log, sealer } = parts;
  const integrations = createIntegrations(parts, sealer);
  const secrets = createSecrets(parts, sealer, integrations, parts.plain);
  const stale = async (): Promise<number> => (await secrets.stale()) + (await integrations.stale());
  return {
    secrets,
    integrations,
    async beginResealing() {
      if ((await stale()) === 0) return;
      await jobs.enqueue(resealNow("secrets", newId("job", clock.now())));
      bus.publish("jobs");
    },
    async reseal(signal) {
      const count = (await secrets.reseal(signal)) + (await integrations.reseal(signal));
      const left = await stale();
      if (count > 0) log.info("secrets were sealed with the first key", { count, left });
      if (left > 0)
        log.warning("secrets cannot be opened with the server's keys", {
          count: left,
          hint: "Start the server with the keys it had, or set them again; `svc secret list` and `svc integration list` name them.",
        });
      if (count > 0 && left === 0) log.info("no stored secret needs an older key any more");
      return count;
    },
    async close() {
      await secrets.close();
      await integrations.close();
    },
  };
}
