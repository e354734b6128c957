import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type { LogLineJson } from "../../../../gen/svc/v1/log_pb.ts";
import { attributesText } from "../../../domain/log-attributes.ts";
import { escapeControls } from "../../../domain/name.ts";
import { visibleLines } from "../../../domain/visible.ts";
import { href, queried, setQueried } from "../../app/place.ts";
import { Copy } from "../../parts/copy.tsx";
import { Status } from "../../parts/status.tsx";
import { rangeText } from "../../parts/time-range.ts";
import { utcText } from "../../parts/time-text.ts";
import { fieldsOf, type LineField } from "./line-fields.ts";
import type { KeptLine } from "./line-store.ts";
import { lineTime } from "./line-time.ts";
import { levelTone } from "./log-levels.ts";
import { withTerm } from "./search-terms.ts";

/** Lines that are in the document, and by how many that grows at its end. */
const STEP = 60;
/** Time around a line that a link to it shows. */
const AROUND_MS = 60_000;

interface LinesParts {
  /** Newest first. */
  readonly lines: readonly KeptLine[];
  /** Called when a line was opened. */
  readonly onOpen?: () => void;
}

/** Lines, newest first, each with its fields opened in place. The list grows as one scrolls on. */
export function LogLines({ lines, onOpen }: LinesParts) {
  const most = useSignal(STEP);
  const end = useRef<HTMLLIElement>(null);
  const isCut = lines.length > most.value;
  useEffect(() => {
    if (!isCut || !end.current) return;
    const watch = new IntersectionObserver(
      ([seen]) => {
        if (seen?.isIntersecting) most.value += STEP;
      },
      { rootMargin: "400px" },
    );
    watch.observe(end.current);
    return () => watch.disconnect();
  }, [isCut, most.value]);
  const meant = queried("line");
  return (
    <ol class="log-lines" aria-label="Lines">
      {lines.slice(0, most.value).map(({ key, line }) => (
        <Line key={key} line={line} isMeant={meant !== "" && line.time === meant} onOpen={onOpen} />
      ))}
      {isCut && <li ref={end} class="dim">{`${lines.length - most.value} more below`}</li>}
    </ol>
  );
}

function Line({
  line,
  isMeant,
  onOpen,
}: {
  readonly line: LogLineJson;
  readonly isMeant: boolean;
  readonly onOpen?: (() => void) | undefined;
}) {
  const { attributes = {}, level = "", message = "", time = "" } = line;
  const isOpen = useSignal(isMeant);
  const place = useRef<HTMLLIElement>(null);
  useEffect(() => {
    if (isMeant) place.current?.scrollIntoView({ block: "center" });
  }, [isMeant]);
  const ms = Date.parse(time);
  const toggle = () => {
    isOpen.value = !isOpen.value;
    if (isOpen.value) onOpen?.();
  };
  return (
    <li ref={place} class={isMeant ? "log-line meant" : "log-line"}>
      <button type="button" class="log-head" aria-expanded={isOpen.value} onClick={toggle}>
        <time dateTime={time} title={utcText(ms)}>
          {lineTime(ms)}
        </time>
        <Status tone={levelTone(level)}>{level}</Status>
        <span class="log-said">
          <span class="dim">{escapeControls(sourceOf(line))}</span> {escapeControls(message.trimEnd())}{" "}
          <span class="dim">{escapeControls(attributesText(attributes))}</span>
        </span>
      </button>
      {isOpen.value && <Opened line={line} />}
    </li>
  );
}

/** What wrote a line: a resolver, a container, or a part of the server. */
function sourceOf({ component = "", podName = "", resolver = "" }: LogLineJson): string {
  return resolver || (component === "compute" ? podName : "") || component;
}

function Opened({ line }: { readonly line: LogLineJson }) {
  const { message = "", time = "" } = line;
  const ms = Date.parse(time);
  const range = rangeText({ from: ms - AROUND_MS, to: ms + 1_000 });
  const link = href("logs", {}, { query: new URLSearchParams({ range, line: time }) });
  return (
    <div class="log-opened">
      <pre class="block">{visibleLines(message)}</pre>
      <table>
        <tbody>
          {fieldsOf(line).map((field) => (
            <FieldRow key={field[0]} field={field} />
          ))}
        </tbody>
      </table>
      <p class="actions">
        <a href={link}>Lines around it</a>
        <Copy text={new URL(link, location.origin).href} what="a link to the line" />
      </p>
    </div>
  );
}

function FieldRow({ field: [name, value] }: { readonly field: LineField }) {
  const search = (isExcluded: boolean) => setQueried({ q: withTerm(queried("q"), name, value, isExcluded), line: "" });
  return (
    <tr>
      <th scope="row">{escapeControls(name)}</th>
      <td>
        <FieldValue field={[name, value]} />
      </td>
      <td>
        <button
          type="button"
          class="quiet"
          aria-label={`Only ${escapeControls(name)} ${escapeControls(value)}`}
          onClick={() => search(false)}
        >
          Only
        </button>
        <button
          type="button"
          class="quiet"
          aria-label={`Without ${escapeControls(name)} ${escapeControls(value)}`}
          onClick={() => search(true)}
        >
          Without
        </button>
      </td>
    </tr>
  );
}

function FieldValue({ field: [name, value] }: { readonly field: LineField }) {
  const text = <code>{escapeControls(value)}</code>;
  return name === "deployment" ? <a href={href("deployment", { id: value }, { deployment: "" })}>{text}</a> : text;
}
