import { escapeControls } from "../../domain/name.ts";
import { mayOnlyRead } from "../../domain/permissions.ts";
import { THEMES } from "../../domain/theme.ts";
import { call } from "../api/call.ts";
import { forgetSession } from "../api/session.ts";
import { chooseTheme, theme } from "./theme.ts";
import { environmentScope, useCaller } from "./who.ts";

/** Who is logged in, the theme, and the way out. */
export function AccountMenu() {
  const { data } = useCaller();
  const logOut = async () => {
    await call("AuthService/EndSession", {}, environmentScope.value).catch(() => undefined);
    forgetSession();
  };
  return (
    <details class="menu">
      <summary>
        <span class="unseen">Account and theme: </span>
        {escapeControls(data?.name || "Account")}
        {data && mayOnlyRead(data.permissions ?? []) && <span class="badge">read only</span>}
      </summary>
      <div class="menu-content">
        <fieldset>
          <legend>Theme</legend>
          {[undefined, ...THEMES].map((name) => (
            <label key={name ?? ""}>
              <input type="radio" name="theme" checked={theme.value === name} onChange={() => chooseTheme(name)} /> {name ?? "system"}
            </label>
          ))}
        </fieldset>
        <button type="button" onClick={() => void logOut()}>
          Log out
        </button>
      </div>
    </details>
  );
}
