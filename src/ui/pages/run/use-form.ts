import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { address, go } from "../../app/place.ts";
import { FORM_NAMES, type QueryForm, readForm, writeForm } from "./query-form.ts";

/** Milliseconds without a key after which the address has what was typed. */
const PAUSE_MS = 200;

/** A form that is being filled in. */
export interface FormState {
  readonly form: QueryForm;
  readonly change: (changes: Partial<QueryForm>) => void;
}

/**
 * The form of the address. What is typed goes into the address after a pause, and a move to another
 * query, such as back or a link, fills in that one.
 */
export function useForm(query: URLSearchParams): FormState {
  const form = useSignal(readForm(query));
  const known = useRef(textOf(form.value));
  useEffect(() => {
    const next = readForm(query);
    if (textOf(next) === known.current) return;
    known.current = textOf(next);
    form.value = next;
  }, [address.value]);
  useEffect(() => {
    const timer = setTimeout(() => {
      const own = writeForm(form.value);
      if (!own || own.toString() === known.current) return;
      known.current = own.toString();
      const all = new URLSearchParams(location.search);
      for (const name of FORM_NAMES) all.delete(name);
      for (const [name, text] of own) all.append(name, text);
      go(`${location.pathname}${all.size > 0 ? `?${all}` : ""}`, { replace: true });
    }, PAUSE_MS);
    return () => clearTimeout(timer);
  }, [form.value]);
  return {
    form: form.value,
    change: (changes) => {
      form.value = { ...form.value, ...changes };
    },
  };
}

function textOf(form: QueryForm): string | undefined {
  return writeForm(form)?.toString();
}
