import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type { CallError } from "../../api/call.ts";
import { follow } from "../../app/live.ts";
import { environmentScope } from "../../app/who.ts";
import { Failed } from "../../parts/failed.tsx";
import { Status } from "../../parts/status.tsx";
import { type KeptLine, LineStore, MOST_LINES } from "./line-store.ts";
import { LogLines } from "./log-lines.tsx";

/** Lines of before that a tail begins with. */
const RECENT = 100;
/** Pixels that one scrolls before the tail stands still. */
const SCROLLED = 4;

/** Lines as they come, newest first. It stands still while one reads further down. */
export function LogTail({ search }: { readonly search: string }) {
  const shown = useSignal<readonly KeptLine[]>([]);
  const paused = useSignal<readonly KeptLine[] | undefined>(undefined);
  const count = useSignal(0);
  const skipped = useSignal(0);
  const error = useSignal<CallError | undefined>(undefined);
  const scroller = useRef<HTMLElement>(null);
  const pausedAt = useRef(0);
  useEffect(() => {
    const store = new LineStore();
    // Where a stream that broke off goes on.
    let cursor = "";
    let frame = 0;
    const draw = () => {
      frame = 0;
      shown.value = store.lines();
      count.value = store.count;
    };
    const end = follow(
      "LogService/TailLogs",
      () => ({ search, recent: RECENT, cursor }),
      environmentScope.value,
      (message) => {
        cursor = message.cursor ?? cursor;
        skipped.value += Number(message.skipped ?? 0);
        store.add(message.lines ?? []);
        if (frame === 0) frame = requestAnimationFrame(draw);
      },
      (ended) => (error.value = ended),
    );
    return () => {
      cancelAnimationFrame(frame);
      end();
    };
  }, [search]);
  const pause = () => {
    if (paused.value !== undefined) return;
    paused.value = shown.value;
    pausedAt.current = count.value;
  };
  const goOn = () => {
    paused.value = undefined;
    if (scroller.current) scroller.current.scrollTop = 0;
  };
  const lines = paused.value ?? shown.value;
  return (
    <>
      {error.value && <Failed error={error.value} />}
      <p class="actions">
        {paused.value === undefined ? (
          <>
            <Status tone="busy">Following</Status>
            <button type="button" onClick={pause}>
              Pause
            </button>
          </>
        ) : (
          <>
            <Status tone="warn">Paused</Status>
            <button type="button" onClick={goOn}>{`Go on: ${count.value - pausedAt.current} new`}</button>
          </>
        )}
        <span class="dim figure">
          {count.value.toLocaleString("en")} lines{count.value > MOST_LINES && `, the newest ${MOST_LINES.toLocaleString("en")} are kept`}
          {skipped.value > 0 && `; ${skipped.value.toLocaleString("en")} records were skipped: they came faster than they could be read`}
        </span>
      </p>
      <section
        ref={scroller}
        class="log-tail"
        aria-label="Lines as they come"
        // biome-ignore lint/a11y/noNoninteractiveTabindex: the keyboard must reach what scrolls
        tabIndex={0}
        onScroll={({ currentTarget }) => {
          if (currentTarget.scrollTop > SCROLLED) pause();
        }}
      >
        <LogLines lines={lines} onOpen={pause} />
        {lines.length === 0 && <p class="dim">Nothing has come yet.</p>}
      </section>
    </>
  );
}
