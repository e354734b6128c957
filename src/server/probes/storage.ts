/** Tests of buckets: one object is put, got and deleted. */

import type { Bucket } from "../../domain/storage-config.ts";
import { GOOGLE_TOKEN_ADDRESS, type ServiceAccount } from "../sql/signed-claims.ts";
import { type AwsKeys, signAws } from "./aws-signature.ts";
import { accessToken } from "./google.ts";
import type { ProbeContext } from "./probe-result.ts";
import { callWeb, ProbeFailed } from "./web-call.ts";

/** Keys of AWS with the region and address of its services. */
export interface AwsAccess {
  readonly keys: AwsKeys;
  readonly region: string;
  /** Address in place of AWS's own; undefined = AWS. */
  readonly endpoint: string | undefined;
}

/** A service account with the address of Google's services. */
export interface GoogleAccess {
  readonly account: ServiceAccount;
  /** Address in place of Google's own; undefined = Google. */
  readonly endpoint: string | undefined;
}

type Method = "PUT" | "GET" | "DELETE";
type ObjectCall = (method: Method, path: string, body: string, signal: AbortSignal) => Promise<string>;

/** Milliseconds for deleting what was put, beyond the time of the test. */
const CLEAN_UP_MS = 3_000;

/**
 * Address of a service of AWS: that of the region, or the one that is given in place of it. A path
 * at its end stays.
 */
export function awsAddress({ endpoint, region }: AwsAccess, service: string, path = "/"): URL {
  const suffix = region.startsWith("cn-") ? "amazonaws.com.cn" : "amazonaws.com";
  return new URL((endpoint ?? `https://${service}.${region}.${suffix}`).replace(/\/+$/, "") + path);
}

/** A bucket of S3, or of what speaks its protocol. Throws ProbeFailed. */
export function probeS3(bucket: Bucket, access: AwsAccess, context: ProbeContext): Promise<string> {
  return putGetDelete(bucket, context, (method, path, body, signal) => {
    const url = awsAddress(access, "s3", path);
    const at = context.clock.now();
    const hash = new Bun.CryptoHasher("sha256").update(body).digest("hex");
    const request = { method, url, headers: { "x-amz-content-sha256": hash }, body, service: "s3", region: access.region, at };
    const { host: _, ...headers } = signAws(request, access.keys);
    return callWeb(url, { method, headers, signal, ...(method === "PUT" && { body }) });
  });
}

/** A bucket of Google Cloud Storage. Throws ProbeFailed. */
export async function probeGcs(bucket: Bucket, { account, endpoint }: GoogleAccess, context: ProbeContext): Promise<string> {
  const base = endpoint?.replace(/\/+$/, "");
  const token = await accessToken(account, new URL(base === undefined ? GOOGLE_TOKEN_ADDRESS : `${base}/token`), context);
  const headers = { authorization: `Bearer ${token}` };
  return putGetDelete(bucket, context, (method, path, body, signal) => {
    const url = new URL((base ?? "https://storage.googleapis.com") + path);
    return callWeb(url, { method, headers, signal, ...(method === "PUT" && { body }) });
  });
}

/**
 * Returns what was done. What was put is deleted whatever came of getting it, also when the time is
 * over or nobody waits for the answer any more.
 */
async function putGetDelete({ name, prefix }: Bucket, { signal }: ProbeContext, call: ObjectCall): Promise<string> {
  const object = `.svc-probe-${crypto.randomUUID()}`;
  const path = `/${[name, prefix, object].filter((part) => part !== "").join("/")}`;
  const text = `svc probe ${object}`;
  const remove = () => call("DELETE", path, "", AbortSignal.timeout(CLEAN_UP_MS));
  try {
    await call("PUT", path, text, signal);
  } catch (error) {
    if (error instanceof ProbeFailed) throw new ProbeFailed(`an object cannot be put: ${error.message}`);
    await remove().catch(() => undefined);
    throw error;
  }
  const [got] = await Promise.allSettled([call("GET", path, "", signal)]);
  try {
    await remove();
  } catch (error) {
    const reason = error instanceof ProbeFailed ? error.message : "nothing was answered";
    throw new ProbeFailed(`${object} cannot be deleted and is left there: ${reason}`);
  }
  if (got.status === "fulfilled" && got.value === text) return "put, got and deleted one object";
  if (got.status === "fulfilled") throw new ProbeFailed("an object cannot be got: it is not what was put");
  throw got.reason instanceof ProbeFailed ? new ProbeFailed(`an object cannot be got: ${got.reason.message}`) : got.reason;
}
