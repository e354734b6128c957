import { useSignal } from "@preact/signals";
import { escapeControls } from "../../../domain/name.ts";
import { call } from "../../api/call.ts";
import { Action } from "../../app/action.tsx";
import { environmentScope } from "../../app/who.ts";

interface StreamParts {
  readonly name: string;
  readonly onDone: () => void;
}

/** Pauses a stream, or has it go on. */
export function PauseStream({ isPaused, name, onDone }: StreamParts & { readonly isPaused: boolean }) {
  const verb = isPaused ? "Resume" : "Pause";
  const act = async () => {
    await call(isPaused ? "StreamService/ResumeStream" : "StreamService/PauseStream", { name }, environmentScope.value);
    return isPaused ? `${name} goes on.` : `${name} is paused.`;
  };
  return (
    <Action
      verb={verb}
      question={`${verb} ${escapeControls(name)}?`}
      permission="deploy"
      words={["streams", isPaused ? "resume" : "pause", name]}
      act={act}
      onDone={onDone}
    >
      <p>{isPaused ? "It goes on where it was." : "It reads nothing until it is resumed, also after a new deployment."}</p>
    </Action>
  );
}

/** Moves a stream within its topic. */
export function SeekStream({ name, onDone }: StreamParts) {
  const to = useSignal<"earliest" | "latest">("latest");
  const act = async () => {
    await call(
      "StreamService/SeekStream",
      to.value === "latest" ? { name, latest: true } : { name, earliest: true },
      environmentScope.value,
    );
    return `${name} goes on at the ${to.value} message.`;
  };
  return (
    <Action
      verb="Seek"
      question={`Move ${escapeControls(name)}?`}
      permission="deploy"
      words={["streams", "seek", name, "--to", to.value]}
      act={act}
      onDone={onDone}
    >
      <p>Messages that are read again count again in windows that are kept. Messages that are passed over are not stored.</p>
      <label class="field">
        <span>To</span>
        <select value={to.value} onChange={({ currentTarget }) => (to.value = currentTarget.value === "earliest" ? "earliest" : "latest")}>
          <option value="latest">after the newest message</option>
          <option value="earliest">the oldest message that is kept</option>
        </select>
      </label>
    </Action>
  );
}

/** Pushes a message to a topic. */
export function PushMessage({ topic, onDone }: { readonly topic: string; readonly onDone: () => void }) {
  const text = useSignal("{}");
  const act = async () => {
    const value = btoa(String.fromCharCode(...new TextEncoder().encode(text.value)));
    await call("TopicService/PushMessages", { topicName: topic, messages: [{ value }] }, environmentScope.value);
    return `A message was pushed to ${topic}.`;
  };
  return (
    <Action
      verb="Push"
      question={`Push a message to ${escapeControls(topic)}?`}
      permission="data.write"
      words={["topic", "push", "--topic", topic, "--value", text.value]}
      act={act}
      onDone={onDone}
    >
      <label class="field">
        <span>Message</span>
        <textarea rows={6} value={text} maxLength={100_000} onInput={({ currentTarget }) => (text.value = currentTarget.value)} />
      </label>
    </Action>
  );
}

/** Computes a stream's dead letters again. */
export function ReplayLetters({ name, onDone }: StreamParts) {
  const act = async () => {
    let [stored, failed, after, until] = [0, 0, "0", "0"];
    for (let isMore = true; isMore; ) {
      const answer = await call("StreamService/ReplayDeadLetters", { name, after, until }, environmentScope.value);
      stored += Number(answer.stored ?? 0);
      failed += Number(answer.failed ?? 0);
      ({ more: isMore = false, through: after = "0", until = "0" } = answer);
    }
    return `${stored} stored, ${failed} failed again.`;
  };
  return (
    <Action
      verb="Replay"
      question={`Compute the dead letters of ${escapeControls(name)} again?`}
      permission="deploy"
      words={["streams", "dead-letters", "replay", name]}
      act={act}
      onDone={onDone}
    >
      <p>What can be stored now is stored, and counts once. Messages that fail again stay, with the new reason.</p>
    </Action>
  );
}
