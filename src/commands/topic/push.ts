import { defineCommand } from "../../cli/command.ts";
import { choice, duration, text } from "../../cli/flag.ts";
import type { Context } from "../../context/context.ts";
import { UsageError } from "../../errors/cli-error.ts";
import { textView } from "../../output/view.ts";
import { type MessageTemplate, payloadOf, templateOf } from "../../topic-client/payload.ts";

/** A message that stands. */
interface Pushed {
  readonly topic: string;
  readonly partition: number;
  readonly offset: bigint;
}

interface Push {
  readonly topic: string;
  readonly integration: string;
  readonly template: MessageTemplate;
}

const SHORTEST_PAUSE_MS = 1;

export default defineCommand({
  summary: "Push a message to a configured stream topic",
  description:
    "The topic is that of a source of the live deployment, a KafkaSource or a TopicSource; with --integration it is a topic of that integration's Kafka cluster; else one of the " +
    "server's own, which `svc infra apply kafka-topics` or a TopicSource makes.\n\n" +
    "In the value and the key are replaced, anew for each push: rand(), rand(max) and rand(min, max) by a number; randint(), from 0 to 1000000, randint(max) and randint(min, max), both ends " +
    "included, by a whole one; randstr(length) by letters and digits; now() by the time, ISO 8601. Other calls are text.\n\n" +
    "With --format JSON the value has to be JSON after that; with binary it is base64. With --repeat a message is pushed again and again until Ctrl-C.",
  examples: [
    `svc topic push --topic clicks --value '{"id":"randstr(8)","at":"now()"}'`,
    {
      run: `svc topic push --topic clicks --key 'randstr(4)' --value 'rand(0,10)' --repeat 200ms`,
      does: "Five messages a second, until Ctrl-C",
    },
    { run: "svc topic push --topic payments --value '{}' --integration kafka_prod", does: "To a Kafka cluster" },
    { run: "svc topic push --topic clicks --value aGk= --format binary", does: "Bytes" },
  ],
  needs: ["session"],
  flags: {
    topic: text("topic", { required: true }),
    value: text("message, as a template", { required: true, placeholder: "<message>" }),
    key: text("message key, as a template", { placeholder: "<key>" }),
    integration: text("integration with the Kafka cluster", { placeholder: "<integration>" }),
    format: choice("form of the value; binary is base64", ["JSON", "binary"], { default: "JSON" }),
    repeat: duration("push again every so often, until interrupted", { aliases: ["--every"] }),
  },
  check(input, { clock }) {
    if (input.repeat !== undefined && input.repeat < SHORTEST_PAUSE_MS) throw new UsageError("--repeat takes a duration of at least 1ms");
    payloadOf(templateFrom(input), { random: Math.random, now: () => clock.now() });
  },
  run(context, input): Promise<Pushed> | AsyncIterable<Pushed> {
    const { topic, integration = "", repeat } = input;
    const push = { topic, integration, template: templateFrom(input) };
    return repeat === undefined ? pushOnce(context, push) : pushAgain(context, push, repeat);
  },
  view: textView(({ topic }: Pushed) => `Pushed message to '${topic}'`),
});

function templateFrom({
  format,
  key,
  value,
}: {
  readonly format: MessageTemplate["format"];
  readonly key: string | undefined;
  readonly value: string;
}): MessageTemplate {
  return { format, value: templateOf("--value", value), key: key === undefined ? undefined : templateOf("--key", key) };
}

async function pushOnce({ api, clock, signal }: Context, { topic, integration, template }: Push): Promise<Pushed> {
  const message = payloadOf(template, { random: Math.random, now: () => clock.now() });
  const request = { topicName: topic, integrationName: integration, messages: [message] };
  const { places } = await (await api.topics()).pushMessages(request, { signal });
  return { topic, partition: places[0]?.partition ?? 0, offset: places[0]?.offset ?? 0n };
}

async function* pushAgain(context: Context, push: Push, pauseMs: number): AsyncIterable<Pushed> {
  for (;;) {
    yield await pushOnce(context, push);
    await context.clock.sleep(pauseMs, context.signal);
  }
}
