import { useEffect } from "preact/hooks";
import { inEnvironment } from "../../domain/addresses.ts";
import { isLoggedIn } from "../api/session.ts";
import { Status } from "../parts/status.tsx";
import { AccountMenu } from "./account-menu.tsx";
import { isCutOff } from "./cut-off.ts";
import { KeyHelp, openPalette, PaletteHost } from "./keys.tsx";
import { LoginNotice } from "./login-notice.tsx";
import { Navigation } from "./navigation.tsx";
import { OpenPage } from "./open-page.tsx";
import { address, go, href } from "./place.ts";
import { ScopeSwitch } from "./scope-switch.tsx";
import { Toasts } from "./toasts.tsx";
import { useCaller } from "./who.ts";

/** The frame of all pages. */
export function Shell() {
  const isOpen = isLoggedIn.value;
  return (
    <>
      <a class="skip" href="#main">
        Skip to the page
      </a>
      <header class="bar">
        <a class="brand" href={href("overview", {})}>
          svc
        </a>
        {isOpen && <ScopeSwitch />}
        {isOpen && isCutOff.value && <Status tone="warn">Not live</Status>}
        <span class="space" />
        {isOpen && (
          <button type="button" class="go-to" aria-keyshortcuts="Control+K" onClick={openPalette}>
            Go to <kbd>Ctrl K</kbd>
          </button>
        )}
        {isOpen && <AccountMenu />}
      </header>
      {isOpen ? <Navigation /> : <nav class="nav" />}
      <main id="main" tabIndex={-1}>
        {isOpen ? <Inside /> : <LoginNotice />}
      </main>
      <Toasts />
      {isOpen && <PaletteHost />}
      <KeyHelp />
    </>
  );
}

/** The page, once its address names the environment that it is of. */
function Inside() {
  const caller = useCaller();
  const whole = inEnvironment(address.value, caller.data?.environmentId ?? "");
  const isWhole = whole === address.value;
  useEffect(() => {
    if (!isWhole) go(whole + location.hash, { replace: true });
  }, [whole, isWhole]);
  return isWhole ? <OpenPage caller={caller} /> : null;
}
