/** The client of Kafka in the compiled binary, which has no file and makes no code beside its own. */

import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Kafka, logLevel } from "kafkajs";
import { Authority } from "../harness/authority.ts";
import { lacksKafka, startKafka } from "../harness/kafka.ts";
import { lacksProgram } from "../harness/needs.ts";
import { Sandbox } from "../harness/sandbox.ts";

test.skipIf(lacksKafka() || lacksProgram("openssl"))(
  "an integration with Kafka is tested by a call of its broker, and again when a broker broke it off",
  async () => {
    await using sandbox = new Sandbox();
    using authority = new Authority();
    await using stack = new AsyncDisposableStack();
    const kafka = await startKafka(authority.sign("localhost"));
    stack.defer(kafka.stop);
    const hostile = Bun.listen({
      hostname: "127.0.0.1",
      port: 0,
      socket: { data: (socket) => void socket.write(Buffer.from([0, 0, 0, 8, 9, 9, 9, 9, 0, 0, 0, 0])) },
    });
    stack.defer(() => hostile.stop(true));
    await sandbox.startServer();
    const variables = {
      KAFKA_BOOTSTRAP_SERVERS: kafka.brokers.SASL_SSL,
      KAFKA_SECURITY_PROTOCOL: "SASL_SSL",
      KAFKA_SASL_MECHANISM: "SCRAM-SHA-512",
      KAFKA_SASL_USERNAME: kafka.user,
      KAFKA_SASL_PASSWORD: kafka.password,
      KAFKA_SSL_CA: readFileSync(authority.certificate, "utf8"),
    };
    const tested = async (changed: Partial<typeof variables> = {}) => {
      const integration = { name: "events", kind: "kafka", environment_variables: { ...variables, ...changed } };
      const folder = await sandbox.write({ "events.yaml": JSON.stringify(integration) });
      const applied = await sandbox.svc(["integration", "apply", "--file", join(folder, "events.yaml")]);
      expect(applied.exitCode, applied.stderr).toBe(0);
      return sandbox.svc(["integration", "test", "events", "--json"]);
    };
    const said = ({ stdout }: { readonly stdout: string }) => JSON.parse(stdout) as { status: string; message: string };

    expect(said(await tested())).toMatchObject({ status: "ok", message: expect.stringContaining(`the cluster ${kafka.clusterId}`) });
    const refused = await tested({ KAFKA_SASL_PASSWORD: "not-the-s3cret" });
    expect([refused.exitCode, said(refused).status]).toEqual([1, "failed"]);
    expect(said(refused).message).toContain("refused the user 'tester' by SCRAM-SHA-512: ");
    expect(refused.stdout + refused.stderr).not.toContain("not-the-s3cret");
    const broken = said(await tested({ KAFKA_BOOTSTRAP_SERVERS: `127.0.0.1:${hostile.port}` }));
    expect([broken.status, broken.message]).toEqual(["failed", expect.stringContaining(`127.0.0.1:${hostile.port} `)]);
    expect(said(await tested()).status).toBe("ok");

    const other = new Kafka({ clientId: "other", brokers: [kafka.brokers.PLAINTEXT], logLevel: logLevel.NOTHING });
    const admin = other.admin();
    await admin.connect();
    stack.defer(() => admin.disconnect());
    await admin.createTopics({ topics: [{ topic: "payments", numPartitions: 1 }], waitForLeaders: true });
    const push = (...words: string[]) => sandbox.svc(["topic", "push", "--value", '{"id":"randstr(4)"}', ...words, "--json"]);
    const pushed = [
      await push("--topic", "payments", "--integration", "events"),
      await push("--topic", "payments", "--integration", "events"),
    ];
    expect(pushed.map(({ stdout }) => JSON.parse(stdout))).toEqual([0, 1].map((offset) => ({ topic: "payments", partition: 0, offset })));
    expect(await admin.fetchTopicOffsets("payments")).toMatchObject([{ partition: 0, high: "2" }]);
    const absent = await push("--topic", "absent", "--integration", "events");
    expect([absent.exitCode, absent.stdout + absent.stderr]).toEqual([
      1,
      expect.stringContaining("There is no topic 'absent' at localhost:"),
    ]);
    const log = readFileSync(join(sandbox.home, ".svc/data/server.log"), "utf8");
    for (const secret of [kafka.password, "not-the-s3cret"]) expect(log).not.toContain(secret);
  },
  300_000,
);

test("the server's own topics are pushed to, and what was answered outlives a kill", async () => {
  await using sandbox = new Sandbox();
  await sandbox.startServer();
  const folder = await sandbox.write({ "topics.yaml": "topics: [{name: clicks, partitions: 1}]" });
  expect((await sandbox.svc(["infra", "apply", "kafka-topics", "--file", join(folder, "topics.yaml"), "--yes"])).exitCode).toBe(0);
  const push = async (): Promise<unknown> => {
    const { exitCode, stderr, stdout } = await sandbox.svc(["topic", "push", "--topic", "clicks", "--value", "{}", "--json"]);
    expect([exitCode, stderr]).toEqual([0, ""]);
    return JSON.parse(stdout).offset;
  };
  expect(await push()).toBe(0);
  await sandbox.killServer();
  await sandbox.startServer();
  expect(await push()).toBe(1);
});
