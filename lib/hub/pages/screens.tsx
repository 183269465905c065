import type { ReactElement } from "react";
import { renderToStaticMarkup } from "react-dom/server";
import type { HubError } from "../ground/errors.ts";
import * as account from "./account-screens.tsx";
import { FailurePage } from "./failure-page.tsx";
import * as fleet from "./fleet-screens.tsx";
import * as joining from "./joining-screens.tsx";
import * as market from "./market-screens.tsx";
import * as publisher from "./publisher-screens.tsx";
import { SignInPage } from "./sign-in-page.tsx";
import * as signing from "./sign-in-screens.tsx";
import { type View, ViewContext } from "./view.ts";
import * as webhook from "./webhook-screens.tsx";

const render = (view: View, page: ReactElement): string =>
  `<!doctype html>${renderToStaticMarkup(<ViewContext value={view}>{page}</ViewContext>)}`;

/** The page of an error. A key that was refused is asked for again. */
const failure = (view: View, error: HubError, next: string): string =>
  render(
    view,
    error instanceof signing.SignInFailed ? (
      <SignInPage next={error.next} fault={error.message} />
    ) : (
      <FailurePage error={error} next={next} />
    ),
  );

/** All that needs React: the first visitor has it loaded. */
export const screens = {
  ...market,
  ...fleet,
  ...account,
  ...signing,
  ...webhook,
  ...publisher,
  ...joining,
  render,
  failure,
};
export type Screens = typeof screens;
