/** Signed calls of AWS that change nothing. */

import type { Variables } from "../../domain/integrations.ts";
import { signAws } from "./aws-signature.ts";
import { type Probe, untested } from "./probe-result.ts";
import { callJson, callWeb } from "./web-call.ts";

const NO_KEYS =
  "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY are not set: resolvers use the role of their machine, which is not tried from here";

type AwsCall = { readonly service: string; readonly headers: Readonly<Record<string, string>>; readonly body: string };

function probeAws(callOf: (variables: Variables) => AwsCall, said: (answer: string) => string): Probe {
  return async (variables, { clock, signal }) => {
    const { AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN, AWS_REGION = "", AWS_ENDPOINT_URL } = variables;
    if (!AWS_ACCESS_KEY_ID || !AWS_SECRET_ACCESS_KEY) return untested(NO_KEYS);
    const { service, headers, body } = callOf(variables);
    if (!/^[a-z0-9-]+$/.test(AWS_REGION)) return { status: "failed", message: "AWS_REGION is no name of a region" };
    const suffix = AWS_REGION.startsWith("cn-") ? "amazonaws.com.cn" : "amazonaws.com";
    const url = new URL("/", AWS_ENDPOINT_URL ?? `https://${service}.${AWS_REGION}.${suffix}`);
    const keys = {
      accessKeyId: AWS_ACCESS_KEY_ID,
      secretAccessKey: AWS_SECRET_ACCESS_KEY,
      ...(AWS_SESSION_TOKEN && { sessionToken: AWS_SESSION_TOKEN }),
    };
    const { host: _, ...signed } = signAws({ method: "POST", url, headers, body, service, region: AWS_REGION, at: clock.now() }, keys);
    const call = { method: "POST", headers: signed, body, signal } as const;
    const answer = service === "sts" ? await callWeb(url, call) : JSON.stringify(await callJson(url, call));
    return { status: "ok", message: `${url.host}: ${said(answer)}` };
  };
}

const target = (service: string, version: "1.0" | "1.1", action: string, body: object): AwsCall => ({
  service,
  headers: { "content-type": `application/x-amz-json-${version}`, "x-amz-target": action },
  body: JSON.stringify(body),
});

/** STS says who the keys belong to. */
export const awsProbe: Probe = probeAws(
  () => ({
    service: "sts",
    headers: { "content-type": "application/x-www-form-urlencoded" },
    body: "Action=GetCallerIdentity&Version=2011-06-15",
  }),
  (answer) => {
    const arn = /<Arn>([\w:/+=,.@-]{1,300})<\/Arn>/.exec(answer)?.[1];
    return arn === undefined ? "took the keys" : `took the keys of ${arn}`;
  },
);

/** The table is described, or tables are listed. */
export const dynamodbProbe: Probe = probeAws(
  ({ DYNAMODB_TABLE: table }) =>
    table
      ? target("dynamodb", "1.0", "DynamoDB_20120810.DescribeTable", { TableName: table })
      : target("dynamodb", "1.0", "DynamoDB_20120810.ListTables", { Limit: 1 }),
  () => "answered",
);

/** The stream is described, or streams are listed. */
export const kinesisProbe: Probe = probeAws(
  ({ KINESIS_STREAM: stream }) =>
    stream
      ? target("kinesis", "1.1", "Kinesis_20131202.DescribeStreamSummary", { StreamName: stream })
      : target("kinesis", "1.1", "Kinesis_20131202.ListStreams", { Limit: 1 }),
  () => "answered",
);

/** The workgroup in which statements would run is described. */
export const athenaProbe: Probe = probeAws(
  ({ ATHENA_WORKGROUP = "primary" }) => target("athena", "1.1", "AmazonAthena.GetWorkGroup", { WorkGroup: ATHENA_WORKGROUP }),
  () => "described the workgroup",
);
