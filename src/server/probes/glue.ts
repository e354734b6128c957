/** Tests of Glue's catalog of tables. */

import { signAws } from "./aws-signature.ts";
import type { ProbeContext } from "./probe-result.ts";
import { type AwsAccess, awsAddress } from "./storage.ts";
import { callJson } from "./web-call.ts";

/** Lists at most one database of the catalog. Throws ProbeFailed. */
export async function probeGlue(catalogId: string | undefined, access: AwsAccess, { clock, signal }: ProbeContext): Promise<string> {
  const url = awsAddress(access, "glue");
  const body = JSON.stringify({ MaxResults: 1, ...(catalogId !== undefined && { CatalogId: catalogId }) });
  const headers = { "content-type": "application/x-amz-json-1.1", "x-amz-target": "AWSGlue.GetDatabases" };
  const request = { method: "POST", url, headers, body, service: "glue", region: access.region, at: clock.now() };
  const { host: _, ...signed } = signAws(request, access.keys);
  await callJson(url, { method: "POST", headers: signed, body, signal });
  return `${url.host} lists its databases`;
}
