import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";

interface SearchParts {
  readonly label: string;
  readonly value: string;
  readonly onSearch: (value: string) => void;
  readonly placeholder?: string;
  /** What is wrong with the search, and the offset where. */
  readonly problem?: { readonly at: number; readonly message: string } | undefined;
  /** What was found, said to screen readers as it changes. */
  readonly found?: string;
}

/** A search: `/` puts the focus here, and what is typed goes into the address as it is typed. */
export function SearchBox({ label, value, onSearch, placeholder = "", problem, found }: SearchParts) {
  const text = useSignal(value);
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => {
    // While somebody types, the field is ahead of the address.
    if (document.activeElement !== field.current) text.value = value;
  }, [value]);
  const type = (typed: string) => {
    text.value = typed;
    onSearch(typed);
  };
  return (
    <div class="search">
      <input
        ref={field}
        type="search"
        aria-label={label}
        aria-invalid={problem !== undefined}
        placeholder={placeholder}
        spellcheck={false}
        autocomplete="off"
        value={text}
        onInput={(event) => type(event.currentTarget.value)}
      />
      {found !== undefined && (
        <span class="dim" role="status">
          {found}
        </span>
      )}
      {problem && (
        <p class="search-problem" role="alert">
          <code>
            {text.value.slice(0, problem.at)}
            <mark>{text.value.slice(problem.at) || " "}</mark>
          </code>{" "}
          {problem.message}
        </p>
      )}
    </div>
  );
}
