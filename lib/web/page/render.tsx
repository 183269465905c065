import type { ReactElement } from "react";
import { renderToStaticMarkup } from "react-dom/server";
import type { HubError } from "../../hub/base/errors.ts";
import { SignInFailed } from "./errors.ts";
import { FailurePage } from "./failure-page.tsx";
import { SignInPage } from "./sign-in-page.tsx";
import { type View, ViewContext } from "./view.ts";

/** Returns the HTML of a page. */
export const render = (view: View, page: ReactElement): string =>
  `<!doctype html>${renderToStaticMarkup(<ViewContext value={view}>{page}</ViewContext>)}`;

/** Returns the HTML of an error. A key that was refused is asked for again. */
export const failure = (view: View, error: HubError, next: string): string =>
  render(
    view,
    error instanceof SignInFailed ? (
      <SignInPage next={error.next} fault={error.message} />
    ) : (
      <FailurePage error={error} next={next} />
    ),
  );
