import { useLayoutEffect, useMemo, useRef } from "preact/hooks";
import { escapeControls } from "../../domain/name.ts";
import { logRows, type ShownLine } from "./log-rows.ts";
import { Status } from "./status.tsx";
import { localText, utcText } from "./time-text.ts";
import { useWindow } from "./window.ts";

interface LogParts {
  /** What the lines are of, for screen readers. */
  readonly label: string;
  /** Oldest first. */
  readonly lines: readonly ShownLine[];
}

const ROW_HEIGHT = 20;
/** Pixels from the end within which a reader is taken to be at it. */
const AT_END = 4;

/** Lines of a log, oldest first. Who reads at its end stays there when more come. */
export function LogView({ label, lines }: LogParts) {
  const scroller = useRef<HTMLElement>(null);
  const isAtEnd = useRef(true);
  const rows = useMemo(() => logRows(lines), [lines]);
  const { after, before, from, isWindowed, to } = useWindow(scroller, rows.length, ROW_HEIGHT);
  useLayoutEffect(() => {
    const { current } = scroller;
    if (current && isAtEnd.current) current.scrollTop = current.scrollHeight;
  }, [rows]);
  const onScroll = ({ currentTarget: { clientHeight, scrollHeight, scrollTop } }: { currentTarget: HTMLElement }) => {
    isAtEnd.current = scrollHeight - clientHeight - scrollTop <= AT_END;
  };
  return (
    <section
      class="log-view"
      ref={scroller}
      role="log"
      aria-label={label}
      // Rows that scrolling draws are nothing new.
      aria-live={isWindowed ? "off" : "polite"}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
      tabIndex={0}
      onScroll={onScroll}
    >
      <div style={{ height: `${before}px` }} />
      {rows.slice(from, to).map(({ key, line, text }) => (
        <div key={key} class="log-row">
          <time dateTime={line && new Date(line.time).toISOString()} title={line && utcText(line.time)}>
            {line && localText(line.time)}
          </time>
          <span>{line && <Status tone={line.tone}>{escapeControls(line.level)}</Status>}</span>
          <span class="log-source dim" title={line && escapeControls(line.source)}>
            {line && escapeControls(line.source)}
          </span>
          <code>{text}</code>
        </div>
      ))}
      <div style={{ height: `${after}px` }} />
    </section>
  );
}
