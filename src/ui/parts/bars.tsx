import { escapeControls } from "../../domain/name.ts";
import { figureText } from "./figure-text.ts";

/** One bar. */
export interface Bar {
  readonly name: string;
  readonly value: number;
  /** What stands at its end; default: the value. */
  readonly text?: string;
}

/** Numbers by name as horizontal bars, which are a table to screen readers. */
export function Bars({ label, bars }: { readonly label: string; readonly bars: readonly Bar[] }) {
  const most = Math.max(...bars.map(({ value }) => value), Number.MIN_VALUE);
  return (
    <table class="bars" aria-label={label}>
      <tbody>
        {bars.map(({ name, value, text }) => (
          <tr key={name}>
            <th scope="row">{escapeControls(name)}</th>
            <td class="bar-place">
              <svg viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">
                <rect width={Math.max((value / most) * 100, value > 0 ? 0.5 : 0)} height="10" />
              </svg>
            </td>
            <td class="number">{text ?? figureText(value)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
