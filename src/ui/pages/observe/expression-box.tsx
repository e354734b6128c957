import { useSignal } from "@preact/signals";
import { useEffect, useId, useRef } from "preact/hooks";
import { MetricExpressionError, parseMetricExpression } from "../../../domain/metrics/expression.ts";
import { escapeControls } from "../../../domain/name.ts";
import { useAnswer } from "../../api/load.ts";
import { environmentScope } from "../../app/who.ts";
import { completionAt, metricOfValues } from "./metric-completion.ts";

/** What is wrong with an expression; undefined when nothing is, or there is none. */
export function expressionProblem(text: string): MetricExpressionError | undefined {
  if (text.trim() === "") return undefined;
  try {
    parseMetricExpression(text);
    return undefined;
  } catch (error) {
    if (error instanceof MetricExpressionError) return error;
    throw error;
  }
}

/** A metric expression with completion: arrows choose, Tab or Enter takes, Enter evaluates. */
export function ExpressionBox({ value, onEvaluate }: { readonly value: string; readonly onEvaluate: (text: string) => void }) {
  const id = useId();
  const input = useRef<HTMLInputElement>(null);
  const text = useSignal(value);
  const caret = useSignal(value.length);
  const isOpen = useSignal(false);
  const chosen = useSignal(-1);
  useEffect(() => {
    text.value = value;
  }, [value]);
  const all = useAnswer("MetricService/ListMetrics", {}, environmentScope.value).data?.metrics ?? [];
  const wanted = isOpen.value ? metricOfValues(text.value, caret.value) : undefined;
  const detailed = useAnswer("MetricService/ListMetrics", wanted === undefined ? undefined : { metric: wanted }, environmentScope.value);
  const completion = completionAt(text.value, caret.value, [...(detailed.data?.metrics ?? []), ...all]);
  const options = isOpen.value ? completion.options : [];
  const problem = isOpen.value ? undefined : expressionProblem(text.value);
  const evaluate = () => {
    isOpen.value = false;
    if (expressionProblem(text.value) === undefined) onEvaluate(text.value.trim());
  };
  const take = (option: string) => {
    text.value = text.value.slice(0, completion.from) + option + text.value.slice(completion.to);
    caret.value = completion.from + option.length;
    chosen.value = -1;
    isOpen.value = option.endsWith(":");
    const [field, at] = [input.current, caret.value];
    requestAnimationFrame(() => field?.setSelectionRange(at, at));
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const option = options[chosen.value];
    if (step !== undefined) {
      isOpen.value = true;
      if (options.length > 0) chosen.value = (chosen.value + step + options.length) % options.length;
    } else if ((event.key === "Enter" || event.key === "Tab") && option !== undefined) take(option);
    else if (event.key === "Enter") evaluate();
    else if (event.key === "Escape" && isOpen.value) isOpen.value = false;
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <form
      class="search"
      onSubmit={(event) => {
        event.preventDefault();
        evaluate();
      }}
    >
      <div class="combo expression">
        <input
          ref={input}
          role="combobox"
          aria-label="Expression"
          aria-expanded={options.length > 0}
          aria-controls={options.length > 0 ? `${id}-list` : undefined}
          aria-activedescendant={options[chosen.value] === undefined ? undefined : `${id}-${chosen.value}`}
          aria-autocomplete="list"
          aria-invalid={problem !== undefined}
          autocomplete="off"
          spellcheck={false}
          placeholder="p99:query.latency{query_name:fraud} by {deployment}.rollup(5m)"
          value={text}
          onInput={({ currentTarget }) => {
            text.value = currentTarget.value;
            caret.value = currentTarget.selectionStart ?? currentTarget.value.length;
            chosen.value = -1;
            isOpen.value = true;
          }}
          onBlur={() => (isOpen.value = false)}
          onKeyDown={onKeyDown}
        />
        {options.length > 0 && (
          <div role="listbox" id={`${id}-list`} aria-label="What can stand here" class="combo-list">
            {options.map((option, at) => (
              // biome-ignore lint/a11y/useFocusableInteractive: the focus stays in the input
              <div
                key={option}
                role="option"
                id={`${id}-${at}`}
                aria-selected={at === chosen.value}
                onPointerDown={(event) => {
                  event.preventDefault();
                  take(option);
                }}
              >
                {escapeControls(option)}
              </div>
            ))}
          </div>
        )}
      </div>
      <button type="submit">Evaluate</button>
      {problem && (
        <p class="search-problem" role="alert">
          <code>
            {text.value.slice(0, problem.from)}
            <mark>{text.value.slice(problem.from, problem.to) || " "}</mark>
            {text.value.slice(Math.max(problem.to, problem.from))}
          </code>{" "}
          {`Column ${problem.column}: ${problem.message}. ${problem.hint}`}
        </p>
      )}
    </form>
  );
}
