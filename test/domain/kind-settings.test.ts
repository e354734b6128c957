import { describe, expect, test } from "bun:test";
import { CLOUD_ACCOUNT_KINDS } from "../../src/domain/cloud-account.ts";
import { kindProblem, settingsProblem } from "../../src/domain/kind-settings.ts";
import { connectionProblem } from "../../src/domain/offline-connection.ts";
import { bucketProblem, readBucket } from "../../src/domain/storage-config.ts";

const AWS = { region: "eu-central-1", access_key_id: "AKID", secret_access_key: "s3cret-value" };
const SNOWFLAKE = { account: "xy12", user: "me", database: "db", token: "t0ken-value" };
const aws = (values: Record<string, string>) => settingsProblem(CLOUD_ACCOUNT_KINDS.aws, "aws", values);

describe("settings of a kind", () => {
  test("the setting that is missing, unknown or wrong is named, with what is close, and no value is", () => {
    expect(aws(AWS)).toBeUndefined();
    expect(kindProblem("kind of cloud account", ["aws", "gcp"], "asw")).toContain("did you mean 'aws'?");
    expect(kindProblem("kind of cloud account", ["aws", "gcp"], "constructor")).toContain("expected one of aws, gcp.");
    expect(aws({ ...AWS, secret_acces_key: "x" })).toContain("'secret_acces_key' is no setting of aws: did you mean 'secret_access_key'?");
    const { region: _, ...without } = AWS;
    expect(aws(without)).toBe("The setting region (region) is required for aws.");
    const wrong: Record<string, string>[] = [
      { region: "EU!" },
      { endpoint: "https://me:s3cret-value@x.example" },
      { access_key_id: "s3cret-value\n" },
      { session_token: "" },
    ];
    for (const one of wrong) {
      const problem = aws({ ...AWS, ...one });
      expect(problem).toStartWith(`The setting ${Object.keys(one)[0]} `);
      expect(problem).not.toContain("s3cret-value");
    }
    expect(aws({ ...AWS, secret_access_key: "********" })).toContain("is the mask");
    expect(aws({ ...AWS, secret_access_key: "x".repeat(13_000) })).toContain("12288 are the most");
  });

  test("Snowflake needs one way to log in, and its key in PKCS#8", () => {
    expect(connectionProblem("snowflake", SNOWFLAKE)).toBeUndefined();
    const { token: _, ...without } = SNOWFLAKE;
    expect(connectionProblem("snowflake", without)).toContain("private_key, token, password");
    expect(connectionProblem("snowflake", { ...without, private_key: "-----BEGIN RSA PRIVATE KEY-----\nx" })).toContain("PKCS#8");
    expect(connectionProblem("snowflake", { ...SNOWFLAKE, account: "evil.example/x?" })).toContain("The setting account ");
    expect(connectionProblem("snowflakes", {})).toContain("did you mean 'snowflake'?");
  });
});

describe("addresses of buckets", () => {
  test("those of the kind's scheme are taken, with or without a prefix", () => {
    expect(readBucket("s3://data-sets/a/b.c/")).toEqual({ name: "data-sets", prefix: "a/b.c" });
    expect(readBucket("gs://data_sets")).toEqual({ name: "data_sets", prefix: "" });
    expect([bucketProblem("aws", "s3://data-sets"), bucketProblem("gcp", "gs://data_sets/x")]).toEqual([undefined, undefined]);
  });

  const WRONG = [
    "gs://data-sets",
    "s3://",
    "s3://a",
    "s3://UPPER",
    "s3://a..b",
    "s3://me:pw@host/x",
    "s3://bucket/../other",
    "s3://bucket/a?x=1",
    "s3://bucket//a",
    "s3://bucket/a b",
    "https://bucket.example",
    `s3://bucket/${"a".repeat(500)}`,
    "file:///etc",
  ];
  test.each(WRONG)("%s is none of aws", (address) => {
    expect(bucketProblem("aws", address)).toContain("expected s3://BUCKET[/PREFIX]");
  });
});
